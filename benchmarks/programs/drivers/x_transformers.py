"""Transformers with many options: decoders that learn random tokens."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "lucidrains/x-transformers"
COMMIT = "9252ed7838021ee61e6c5be0930b3a9a88efdf06"
PLAIN = {"dim": 32, "depth": 2, "heads": 2, "attn_dim_head": 16}


def run(folder: Path, record: Record) -> None:
    """Three steps with each of seven sets of options. Needs einx and loguru."""
    on_path(folder)
    import torch
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    options = [
        {},
        {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True},
        {"alibi_pos_bias": True, "attn_pre_talking_heads": True},
        {"rel_pos_bias": True, "attn_sparse_topk": 4},
        {"attn_flash": True, "attn_qk_norm": True},
        {"macaron": True, "sandwich_coef": 1, "ff_swish": True},
        {"attn_kv_heads": 1, "attn_num_mem_kv": 4, "shift_tokens": 1},
    ]
    tokens = torch.randint(0, 64, (2, 33))
    for words in options:
        layers = Decoder(**PLAIN, **words)
        net = TransformerWrapper(num_tokens=64, max_seq_len=33, attn_layers=layers)
        model = AutoregressiveWrapper(net)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        train(optimizer, lambda model=model: model(tokens), 3, record)
    record(model.generate(tokens[:, :4], 6, temperature=0.0).sum())
