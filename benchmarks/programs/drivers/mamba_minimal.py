"""Mamba in one file: its own model learns random tokens."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "johnma2006/mamba-minimal"
COMMIT = "03de542a36d873f6e6c4057ad687278cc6ae944d"


def run(folder: Path, record: Record) -> None:
    """Ten steps of Adam on a model of two layers."""
    on_path(folder)
    import torch
    from model import Mamba, ModelArgs

    model = Mamba(ModelArgs(d_model=64, n_layer=2, vocab_size=100))
    tokens = torch.randint(0, 100, (4, 33))

    def loss() -> torch.Tensor:
        logits = model(tokens[:, :-1])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    train(torch.optim.Adam(model.parameters(), lr=1e-3), loss, 10, record)
