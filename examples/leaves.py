"""Who is a leaf, and why: the order of creation, move, and request for gradients decides.

Run it with `python examples/leaves.py`. It needs no GPU: one is simulated.
"""

import lamina as torch

torch.cuda.simulate()


def show(name: str, tensor: torch.Tensor) -> None:
    """Print the two flags of a tensor."""
    print(f"\n{name}: is_leaf={tensor.is_leaf}, requires_grad={tensor.requires_grad}")


# Made by you, and gradients asked for: a leaf. backward() fills its .grad.
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(w * w).sum().backward()
show("w", w)
print(torch.why(w))

# Gradients asked for before the move: what comes back was computed by the move.
moved = torch.ones(3, requires_grad=True).cuda()
show("moved", moved)
print(torch.why(moved))

# Moved first: a leaf, on the GPU.
placed = torch.ones(3).cuda().requires_grad_()
show("placed", placed)
print(torch.why(placed))

# Computed from a leaf: not a leaf. It passes its gradient on, and keeps it only if asked to.
h = w * 2
h.retain_grad()
h.sum().backward()
show("h", h)
print(torch.why(h))
print("h.grad is", h.grad)

# Nothing here requires grad: a leaf by convention, although it was computed.
mean = torch.arange(4.0).mean()
show("mean", mean)
print(torch.why(mean))

# Computed while recording was off: a leaf as well, and the graph ends here.
with torch.no_grad():
    quiet = w * 3
show("quiet", quiet)
print(torch.why(quiet))
