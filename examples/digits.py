"""A small network that learns to read handwritten digits: `nn`, `optim`, and real data.

Run it with `python examples/digits.py`; it takes about a second.
"""

import lamina as torch
from lamina import nn
from lamina.data import load_digits

torch.manual_seed(0)

images, labels = load_digits()  # NumPy arrays: 1797 images of 8 x 8 pixels, values 0 to 16
pixels = torch.from_numpy(images).reshape(-1, 64) / 16
targets = torch.from_numpy(labels)
order = torch.randperm(len(pixels))
held_out, training = order[:360], order[360:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_function = nn.CrossEntropyLoss()


def accuracy(chosen: torch.Tensor) -> float:
    """The share of images, of those chosen, that the model reads rightly."""
    with torch.no_grad():
        guesses = model(pixels[chosen]).argmax(dim=1)
    return (guesses == targets[chosen]).float().mean().item()


for epoch in range(20):
    shuffled = training[torch.randperm(len(training))]
    for batch in shuffled.split(32):
        optimizer.zero_grad()
        loss = loss_function(model(pixels[batch]), targets[batch])
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}: loss {loss.item():.4f}, held out {accuracy(held_out):.1%}")
