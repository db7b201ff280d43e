"""Which libraries compute, and switches that programs for GPUs set: `backends.cudnn.benchmark`.

Lamina computes with NumPy and machine code of its own. So the questions are answered for that
(there is no cuDNN, no MKL, no Metal), and the switches are kept, can be read again, and change
nothing.

>>> cudnn.benchmark = True
>>> cudnn.is_available(), mps.is_available()
(False, False)
"""

from lamina.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
