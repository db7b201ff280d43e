"""MinGPT learns to add, by the program's own dataset, model and trainer."""

from pathlib import Path

from driving import Record, first_part, on_path

REPOSITORY = "karpathy/minGPT"
COMMIT = "37baab71b9abea1b76ab957409a1cc2fbfba8a26"


def run(folder: Path, record: Record) -> None:
    """Fifteen steps of `projects/adder`."""
    on_path(folder)
    from mingpt.model import GPT
    from mingpt.trainer import Trainer

    adder = first_part(folder / "projects" / "adder" / "adder.py", "if __name__")
    config = adder.get_config()
    dataset = adder.AdditionDataset(config.data, split="train")
    config.model.vocab_size = dataset.get_vocab_size()
    config.model.block_size = dataset.get_block_size()
    config.trainer.max_iters, config.trainer.num_workers = 15, 0
    trainer = Trainer(config.trainer, GPT(config.model), dataset)
    trainer.set_callback("on_batch_end", lambda trainer: record(trainer.loss.item()))
    trainer.run()
