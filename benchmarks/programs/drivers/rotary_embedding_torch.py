"""Rotary embeddings of every kind, in attention that is trained."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "lucidrains/rotary-embedding-torch"
COMMIT = "8bb4643d1c29f944c47d2e807452ac437689af18"


def run(folder: Path, record: Record) -> None:
    """Ten steps on queries that are rotated; learned frequencies; axial and xpos forms."""
    on_path(folder)
    import torch
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
    from torch.nn import functional as F

    rotary = RotaryEmbedding(dim=32, learned_freq=True)
    q, k, v = (torch.randn(2, 4, 48, 64).requires_grad_() for _ in range(3))

    def loss() -> torch.Tensor:
        rotated = rotary.rotate_queries_or_keys(q), rotary.rotate_queries_or_keys(k)
        return F.scaled_dot_product_attention(*rotated, v, is_causal=True).square().mean()

    train(torch.optim.Adam([q, k, v, *rotary.parameters()], lr=1e-2), loss, 10, record)
    xpos = RotaryEmbedding(dim=32, use_xpos=True)
    for rotated in xpos.rotate_queries_and_keys(q, k):
        record(rotated.sum())
    axial = RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=256)
    freqs = axial.get_axial_freqs(6, 8)
    record(apply_rotary_emb(freqs, torch.randn(2, 6, 8, 64)).norm())
