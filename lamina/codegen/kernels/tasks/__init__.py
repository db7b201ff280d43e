"""The tasks of the kernels, as LLVM's text: what threads do, for all sizes at once.

One file a theme, written with `routines`; `kernels/` beside it compiles, prepares and calls them.
"""
