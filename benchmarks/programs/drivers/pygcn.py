"""Graph convolution by the program's own script: Cora's citations, and words made up for them."""

import tempfile
from pathlib import Path

import numpy as np
from driving import Record, on_path, run_script

REPOSITORY = "tkipf/pygcn"
COMMIT = "1600b5b748b3976413d1e307540ccc62605b4d6d"


def run(folder: Path, record: Record) -> None:
    """Twenty epochs of `train.py`; its printed losses, of training and of validation."""
    on_path(folder)
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data" / "cora"
        work = Path(name) / "work"
        data.mkdir(parents=True)
        work.mkdir()
        cites = (folder / "data" / "cora" / "cora.cites").read_text(encoding="utf-8")
        (data / "cora.cites").write_text(cites, encoding="utf-8")
        papers = list(dict.fromkeys(cites.split()))
        (data / "cora.content").write_text(_content(papers), encoding="utf-8")
        words = ["--no-cuda", "--epochs", "20"]
        run_script(folder / "pygcn" / "train.py", words, r"loss_val: (\d+\.\d+)", record, work)


def _content(papers: list[str]) -> str:
    """A line for each paper: its number, 210 words that it has or has not, and its topic."""
    numbers = np.random.default_rng(0)
    topics = numbers.integers(0, 7, len(papers))
    often = np.where(np.arange(210) % 7 == topics[:, None], 0.25, 0.05)
    words = (numbers.random(often.shape) < often).astype(int)
    lines = (
        " ".join([paper, *map(str, row), f"topic{topic}"])
        for paper, row, topic in zip(papers, words, topics, strict=True)
    )
    return "\n".join(lines) + "\n"
