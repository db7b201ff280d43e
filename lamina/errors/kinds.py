"""L5xx: dtypes; L6xx: devices."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class DtypeError(LaminaError, RuntimeError):
    """An operation was given tensors of dtypes that do not go together.

    Fails:
        torch.ones(2, 2).double() @ torch.ones(2, 2)
    Works:
        torch.ones(2, 2).double() @ torch.ones(2, 2).double()
    """

    code = "L501"


@final
class UnsupportedData(LaminaError, TypeError):
    """A tensor cannot be made from this kind of data.

    Fails:
        torch.tensor('abc')
    Works:
        torch.tensor([97, 98, 99])
    """

    code = "L502"


@final
class ArgumentTypeError(LaminaError, TypeError):
    """An argument has the wrong type.

    Fails:
        torch.add(x, 'one')
    Works:
        torch.add(x, 1)
    """

    code = "L503"


@final
class NotImplementedForDtype(LaminaError, NotImplementedError):
    """An operation is not implemented for this dtype.

    Fails:
        torch.sort(torch.ones(2, dtype=torch.complex64))
    Works:
        torch.sort(torch.ones(2, dtype=torch.complex64).abs())
    """

    code = "L504"


@final
class InvalidDtype(LaminaError, TypeError):
    """This is not a dtype.

    Fails:
        torch.ones(2, dtype='float')
    Works:
        torch.ones(2, dtype=torch.float32)
    """

    code = "L505"


@final
class DeviceMismatch(LaminaError, RuntimeError):
    """Expected all tensors to be on the same device.

    Fails:
        torch.ones(2, device='cuda') + torch.ones(2)
    Works:
        torch.ones(2, device='cuda') + torch.ones(2).cuda()
    """

    code = "L601"


@final
class SimulatedCudaUnavailable(LaminaError, RuntimeError, AssertionError):
    """A CUDA device was asked for, and there is neither a GPU nor a simulated one.

    PyTorch raises AssertionError or RuntimeError for it, depending on who is asked.

    Fails:
        torch.ones(2, device='cuda')
    Works:
        torch.ones(2, device='cuda' if torch.cuda.is_available() else 'cpu')
    """

    code = "L602"


@final
class InvalidDevice(LaminaError, RuntimeError):
    """This is not the name of a device.

    Fails:
        torch.ones(2, device='gpu')
    Works:
        torch.ones(2, device='cuda')
    """

    code = "L603"


@final
class NumpyOfDeviceTensor(LaminaError, TypeError):
    """A tensor that is not on the CPU can't be converted to NumPy.

    Use Tensor.cpu() to copy the tensor to host memory first.

    Fails:
        torch.ones(2, device='cuda').numpy()
    Works:
        torch.ones(2, device='cuda').cpu().numpy()
    """

    code = "L604"


@final
class NoData(LaminaError, NotImplementedError):
    """A meta tensor has no data: Cannot copy out of meta tensor; no data!

    Fails:
        torch.ones(2, device='meta').cpu()
    Works:
        torch.empty_like(torch.ones(2, device='meta'), device='cpu')
    """

    code = "L605"


@final
class OutOfMemoryError(LaminaError, RuntimeError):
    """A device has not enough memory left.

    Fails:
        x = torch.ones(10**12, device='cuda')
    Works:
        x = torch.ones(10**6, device='cuda')
    """

    code = "L606"


@final
class InvalidThreadCount(LaminaError, RuntimeError):
    """A number of threads that is no positive integer.

    Fails:
        torch.set_num_threads(0)
    Works:
        torch.set_num_threads(1)
    """

    code = "L607"
