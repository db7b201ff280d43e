"""`lamina bench`: times of Lamina, eager and compiled, beside PyTorch's on the same machine.

`workloads`, `training` and `functions` say what is timed, with PyTorch's names only, so that the
same lines run on both libraries. `worker` is the process of one library, `workers` starts and asks
such processes, `rounds` has them check each other and take turns, `report` shows what came out, and
`command` is the whole of it.
"""
