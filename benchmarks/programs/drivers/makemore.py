"""Makemore's script, with its own list of names, for each of its six models."""

import tempfile
from pathlib import Path

from driving import Record, run_script, stand_in

REPOSITORY = "karpathy/makemore"
COMMIT = "988aa59e4d8fefa526d06f3b453ad116258398d4"


def run(folder: Path, record: Record) -> None:
    """Thirty-one steps each; the script prints every tenth loss."""
    stand_in("torch.utils.tensorboard")
    for kind in ("transformer", "bigram", "mlp", "rnn", "gru", "bow"):
        with tempfile.TemporaryDirectory() as out:
            words = ["-i", "names.txt", "-o", out, "--type", kind, "--max-steps", "31", "-n", "0"]
            run_script(folder / "makemore.py", words, r"loss (\d+\.\d+)", record, folder)
