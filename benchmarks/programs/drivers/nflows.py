"""Normalizing flows: densities that are learned from a mixture of two rings."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "bayesiains/nflows"
COMMIT = "5d22344436a4a5f4c3b93a3b99322a6bfe374c08"


def run(folder: Path, record: Record) -> None:
    """Ten steps with a flow of three kinds of transforms; one sample, one round trip."""
    on_path(folder)
    stand_in("UMNN", "matplotlib", "matplotlib.pyplot")
    import torch
    from nflows import transforms
    from nflows.distributions.normal import StandardNormal
    from nflows.flows.base import Flow

    flow = Flow(
        transforms.CompositeTransform([
            transforms.MaskedAffineAutoregressiveTransform(features=2, hidden_features=8),
            transforms.LULinear(2),
            transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
                features=2, hidden_features=8, num_bins=4, tails="linear", tail_bound=3.0
            ),
            transforms.RandomPermutation(2),
        ]),
        StandardNormal([2]),
    )  # fmt: skip
    angles = torch.rand(128, 1) * 6.2831853
    points = torch.cat([angles.cos(), angles.sin()], 1) * torch.randint(1, 3, (128, 1))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    train(optimizer, lambda: -flow.log_prob(points).mean(), 10, record)
    with torch.no_grad():
        record(flow.sample(16).norm())
        there, _ = flow._transform(points)
        record(flow._transform.inverse(there)[0].norm())
