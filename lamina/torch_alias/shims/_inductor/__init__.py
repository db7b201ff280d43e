"""`torch._inductor`: PyTorch's code generator, whose settings programs may write."""
