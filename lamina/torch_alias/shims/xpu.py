"""`torch.xpu`: a kind of device that Lamina does not have."""

from lamina.torch_alias.shims.no_device import device_count, is_available, is_initialized

__all__ = ["device_count", "is_available", "is_initialized"]
