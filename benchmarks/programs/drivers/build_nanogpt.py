"""GPT-2 as the lecture builds it: model and optimizer of the script, on random tokens."""

from pathlib import Path

from driving import Record, first_part, on_path, stand_in

REPOSITORY = "karpathy/build-nanogpt"
COMMIT = "6104ab1b53920f6e2159749676073ff7d815c1fa"


def run(folder: Path, record: Record) -> None:
    """Eight steps; bfloat16 autocast for half of them, and clipped gradients."""
    on_path(folder)
    stand_in("tiktoken", "transformers", "requests")
    import torch

    script = first_part(folder / "train_gpt2.py", "import tiktoken")
    script.master_process = True  # a global that the script sets later
    torch.set_float32_matmul_precision("high")
    config = script.GPTConfig(block_size=32, vocab_size=128, n_layer=2, n_head=2, n_embd=64)
    model = script.GPT(config)
    optimizer = model.configure_optimizers(0.1, 6e-4, "cpu")
    tokens = torch.randint(0, 128, (4, 33))
    x, y = tokens[:, :-1].clone(), tokens[:, 1:].clone()
    for step in range(8):
        optimizer.zero_grad()
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=step >= 4):
            _, loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        record(loss.item())
