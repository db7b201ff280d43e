"""A straight line fitted by gradient descent, with nothing but tensors and backward().

Run it with `python examples/linear_regression.py`.
"""

import lamina as torch

torch.manual_seed(0)

# Points near the line y = 3 x - 1.
x = torch.linspace(-1, 1, 100)
y = 3 * x - 1 + 0.1 * torch.randn(100)

slope = torch.zeros((), requires_grad=True)
offset = torch.zeros((), requires_grad=True)
rate = 0.2

for step in range(201):
    loss = ((slope * x + offset - y) ** 2).mean()
    if step % 50 == 0:
        print(f"step {step:3}: loss {loss.item():.4f}")

    loss.backward()  # adds d loss / d slope to slope.grad, and the same for offset

    with torch.no_grad():  # the update itself is no part of the model
        slope -= rate * slope.grad
        offset -= rate * offset.grad
    slope.grad = None  # else the next backward() would add to it
    offset.grad = None

print(f"y = {slope.item():.2f} x {offset.item():+.2f}")

# The same line without iterating: least squares. Both must agree.
columns = torch.stack([x, torch.ones(100)], dim=1)
best = torch.linalg.lstsq(columns, y[:, None]).solution[:, 0]
print(f"y = {best[0].item():.2f} x {best[1].item():+.2f} (least squares)")
