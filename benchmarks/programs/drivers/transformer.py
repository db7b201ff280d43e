"""The transformer for translation: its own model learns random sentences."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "hyunwoongko/transformer"
COMMIT = "63286547b9cd174a6cfc204832271814d685181f"


def run(folder: Path, record: Record) -> None:
    """Ten steps as in its `train.py`: clipped gradients, Adam, a schedule by plateaus."""
    on_path(folder)
    import torch
    from models.model.transformer import Transformer
    from torch import nn

    model = Transformer(
        src_pad_idx=1, trg_pad_idx=1, trg_sos_idx=2, enc_voc_size=80, dec_voc_size=80, d_model=64,
        n_head=4, max_len=40, ffn_hidden=128, n_layers=2, drop_prob=0.1, device="cpu",
    )  # fmt: skip
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.kaiming_uniform_(parameter.data)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=5e-4, eps=5e-9)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.9, patience=2)
    criterion = nn.CrossEntropyLoss(ignore_index=1)
    src, trg = torch.randint(1, 80, (8, 20)), torch.randint(1, 80, (8, 21))
    model.train()
    for _ in range(10):
        optimizer.zero_grad()
        output = model(src, trg[:, :-1])
        flat = output.contiguous().view(-1, output.shape[-1])
        loss = criterion(flat, trg[:, 1:].contiguous().view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step(loss.item())
        record(loss.item())
