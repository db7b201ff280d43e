"""Quantized vectors: codebooks of five kinds, between an encoder and a decoder."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "lucidrains/vector-quantize-pytorch"
COMMIT = "0d7d1aa83334b6f2f8a40306bece75cdaa13d065"


def run(folder: Path, record: Record) -> None:
    """Five steps with each. Needs einx."""
    on_path(folder)
    import torch
    from torch import nn
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, SimVQ, VectorQuantize

    quantizers = [
        VectorQuantize(dim=16, codebook_size=32, decay=0.8),
        VectorQuantize(dim=16, codebook_size=32, use_cosine_sim=True, kmeans_init=True),
        ResidualVQ(dim=16, num_quantizers=3, codebook_size=16),
        FSQ(levels=[5, 5, 5], dim=16),
        LFQ(dim=16, codebook_size=32, entropy_loss_weight=0.1),
        SimVQ(dim=16, codebook_size=32),
    ]
    x = torch.randn(4, 20, 8)
    for quantizer in quantizers:
        encoder, decoder = nn.Linear(8, 16), nn.Linear(16, 8)
        parameters = [*encoder.parameters(), *decoder.parameters(), *quantizer.parameters()]

        def loss(quantizer=quantizer, encoder=encoder, decoder=decoder) -> torch.Tensor:
            quantized, *rest = quantizer(encoder(x))
            extra = sum(value.sum() for value in rest[1:2])
            return (decoder(quantized) - x).square().mean() + extra

        train(torch.optim.Adam(parameters, lr=1e-3), loss, 5, record)
