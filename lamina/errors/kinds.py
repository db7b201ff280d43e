"""L5xx: dtypes; L6xx: devices."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class DtypeError(LaminaError, RuntimeError):
    """An operation was given tensors of dtypes that do not go together.

    Products, unlike sums, do not convert what they are given.

    Fails:
        torch.ones(2, 2).double() @ torch.ones(2, 2)
    Works:
        torch.ones(2, 2).double() @ torch.ones(2, 2).double()
    """

    code = "L501"


@final
class UnsupportedData(LaminaError, TypeError):
    """A tensor cannot be made from this kind of data.

    A tensor is made of numbers: of lists of them, arrays, or other tensors.

    Fails:
        torch.tensor("abc")
    Works:
        torch.tensor([97, 98, 99])
    """

    code = "L502"


@final
class ArgumentTypeError(LaminaError, TypeError):
    """An argument has the wrong type.

    The message names the argument and what it can be.

    Fails:
        x = torch.ones(2)
        torch.add(x, "one")
    Works:
        x = torch.ones(2)
        torch.add(x, 1)
    """

    code = "L503"


@final
class NotImplementedForDtype(LaminaError, NotImplementedError):
    """An operation is not implemented for this dtype.

    Complex numbers, for example, have no order.

    Fails:
        torch.sort(torch.ones(2, dtype=torch.complex64))
    Works:
        torch.sort(torch.ones(2, dtype=torch.complex64).abs())
    """

    code = "L504"


@final
class InvalidDtype(LaminaError, TypeError):
    """This is not a dtype.

    dtypes are objects such as `torch.float32`, and Python's `float`, `int` and `bool`.

    Fails:
        torch.ones(2, dtype="float")
    Works:
        torch.ones(2, dtype=torch.float32)
    """

    code = "L505"


@final
class DeviceMismatch(LaminaError, RuntimeError):
    """Expected all tensors to be on the same device.

    Memory of one device cannot be read by another: one of the tensors has to be moved first.

    Fails:
        with torch.cuda.simulate():
            torch.ones(2, device="cuda") + torch.ones(2)
    Works:
        with torch.cuda.simulate():
            torch.ones(2, device="cuda") + torch.ones(2).cuda()
    """

    code = "L601"


@final
class SimulatedCudaUnavailable(LaminaError, RuntimeError, AssertionError):
    """A CUDA device was asked for, and there is neither a GPU nor a simulated one.

    PyTorch raises AssertionError or RuntimeError for it, depending on who is asked.

    Lamina computes on the CPU; it can simulate a GPU, so that programs for one run and fail as
    there.

    Fails:
        torch.ones(2, device="cuda")
    Works:
        torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu")
    """

    code = "L602"


@final
class InvalidDevice(LaminaError, RuntimeError):
    """This is not the name of a device.

    Devices are called `cpu`, `cuda`, `cuda:1` or `meta`.

    Fails:
        torch.ones(2, device="gpu")
    Works:
        torch.ones(2, device="cpu")
    """

    code = "L603"


@final
class NumpyOfDeviceTensor(LaminaError, TypeError):
    """A tensor that is not on the CPU can't be converted to NumPy.

    Use Tensor.cpu() to copy the tensor to host memory first.

    A NumPy array lies in host memory.

    Fails:
        with torch.cuda.simulate():
            torch.ones(2, device="cuda").numpy()
    Works:
        with torch.cuda.simulate():
            torch.ones(2, device="cuda").cpu().numpy()
    """

    code = "L604"


@final
class NoData(LaminaError, NotImplementedError):
    """A meta tensor has no data.

    PyTorch's phrase: Cannot copy out of meta tensor; no data!

    It knows its shape and dtype only.

    Fails:
        torch.ones(2, device="meta").cpu()
    Works:
        torch.empty_like(torch.ones(2, device="meta"), device="cpu")
    """

    code = "L605"


@final
class OutOfMemoryError(LaminaError, RuntimeError):
    """A device has not enough memory left.

    Tensors hold their memory as long as something leads to them, a graph included.

    Fails:
        with torch.cuda.simulate(memory=1_000_000):
            x = torch.ones(1_000_000, device="cuda")
    Works:
        with torch.cuda.simulate(memory=1_000_000):
            x = torch.ones(100_000, device="cuda")
    """

    code = "L606"


@final
class InvalidThreadCount(LaminaError, RuntimeError):
    """A number of threads that is no positive integer.

    Nothing is computed by no threads.

    Fails:
        torch.set_num_threads(0)
    Works:
        torch.set_num_threads(torch.get_num_threads())
    """

    code = "L607"
