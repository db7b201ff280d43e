"""NanoGPT's script, as it is, with a file of random tokens."""

import os
import tempfile
from pathlib import Path

import numpy as np
from driving import Record, run_script

REPOSITORY = "karpathy/nanoGPT"
COMMIT = "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"
SETTINGS = {
    "device": "cpu", "compile": False, "eval_interval": 10, "eval_iters": 2, "log_interval": 1,
    "batch_size": 4, "block_size": 32, "n_layer": 2, "n_head": 2, "n_embd": 64,
    "gradient_accumulation_steps": 2, "max_iters": 12, "warmup_iters": 2, "dtype": "float32",
    "always_save_checkpoint": True, "dataset": "random",
}  # fmt: skip


def run(folder: Path, record: Record) -> None:
    """Thirteen steps, with two checkpoints written."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for file in ("model.py", "configurator.py"):
            os.symlink(folder / file, place / file)
        data = place / "data" / "random"
        data.mkdir(parents=True)
        tokens = np.random.default_rng(0).integers(0, 64, 4000)
        for part in ("train", "val"):
            tokens.astype(np.uint16).tofile(data / f"{part}.bin")
        words = [f"--{key}={value}" for key, value in SETTINGS.items()]
        words.append("--out_dir=out")
        run_script(folder / "train.py", words, r"^iter \d+: loss (\d+\.\d+)", record, place)
