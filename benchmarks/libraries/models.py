"""Small models of Hugging Face transformers, with weights made up from a seed: one step of each.

    python benchmarks/libraries/models.py            under PyTorch
    lamina run benchmarks/libraries/models.py        under Lamina

Each line is JSON: the model's name, its numbers (the loss and the sum of all gradients' absolute
values, or the tokens that it generates), and how many seconds they took; or the error.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers

SIZES = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GROUPED = {**SIZES, "num_key_value_heads": 2}
STACK = {
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "vocab_size": 100, "d_model": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 2,
}  # fmt: skip
IMAGES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip

# The model, the settings of its configuration, and what it is given.
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "ALBERT": ("AlbertForMaskedLM", {**SIZES, "embedding_size": 16}, "tokens"),
    "BART": ("BartForConditionalGeneration", {**STACK, "max_position_embeddings": 64}, "tokens"),
    "BERT": ("BertForMaskedLM", SIZES, "tokens"),
    "BLOOM": ("BloomForCausalLM", {"vocab_size": 100, "hidden_size": 32, "n_layer": 2, "n_head": 4},
              "tokens"),
    "CLIP": ("CLIPModel", {"text_config": SIZES, "vision_config": IMAGES, "projection_dim": 16},
             "both"),
    "ConvNeXT": ("ConvNextForImageClassification",
                 {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "num_labels": 5},
                 "images"),
    "DeBERTa": ("DebertaV2ForMaskedLM",
                {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, "tokens"),
    "DistilBERT": ("DistilBertForMaskedLM",
                   {"vocab_size": 100, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
                   "tokens"),
    "ELECTRA": ("ElectraForMaskedLM", {**SIZES, "embedding_size": 16}, "tokens"),
    "Falcon": ("FalconForCausalLM",
               {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
                "num_attention_heads": 4}, "tokens"),
    "Gemma": ("GemmaForCausalLM", {**GROUPED, "head_dim": 8}, "tokens"),
    "Gemma 2": ("Gemma2ForCausalLM", {**GROUPED, "head_dim": 8}, "tokens"),
    "GPT-2": ("GPT2LMHeadModel",
              {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
               "bos_token_id": 1, "eos_token_id": 2}, "tokens"),
    "GPT-NeoX": ("GPTNeoXForCausalLM", SIZES, "tokens"),
    "Llama": ("LlamaForCausalLM", GROUPED, "tokens"),
    "Mamba": ("MambaForCausalLM",
              {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
              "tokens"),
    "Mistral": ("MistralForCausalLM", GROUPED, "tokens"),
    "Mixtral": ("MixtralForCausalLM", {**GROUPED, "num_local_experts": 4}, "tokens"),
    "ModernBERT": ("ModernBertForMaskedLM", {**SIZES, "cls_token_id": 1, "sep_token_id": 2},
                   "tokens"),
    "OPT": ("OPTForCausalLM",
            {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
             "num_attention_heads": 4, "ffn_dim": 64, "max_position_embeddings": 64,
             "word_embed_proj_dim": 32, "pad_token_id": 0}, "tokens"),
    "Phi": ("PhiForCausalLM", SIZES, "tokens"),
    "Qwen 2": ("Qwen2ForCausalLM", GROUPED, "tokens"),
    "Qwen 3": ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 8}, "tokens"),
    "ResNet": ("ResNetForImageClassification",
               {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": 5,
                "layer_type": "basic"}, "images"),
    "RoBERTa": ("RobertaForMaskedLM", SIZES, "tokens"),
    "T5": ("T5ForConditionalGeneration",
           {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2,
            "num_heads": 4, "decoder_start_token_id": 0, "pad_token_id": 0}, "tokens"),
    "ViT": ("ViTForImageClassification", {**IMAGES, "num_labels": 5}, "images"),
    "Whisper": ("WhisperForConditionalGeneration",
                {**STACK, "num_mel_bins": 8, "max_source_positions": 20,
                 "max_target_positions": 40}, "sound"),
    "XLNet": ("XLNetLMHeadModel",
              {"vocab_size": 100, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
              "tokens"),
}  # fmt: skip


def built(name: str, settings: dict[str, Any]) -> Any:
    """A model in evaluation mode, with the weights that seed 1 gives."""
    kind = getattr(transformers, name)
    torch.manual_seed(1)
    return kind(kind.config_class(**settings)).eval()


def tokens() -> Any:
    """Two rows of twelve tokens."""
    return torch.randint(5, 90, (2, 12), generator=torch.Generator().manual_seed(0))


def inputs_of(kind: str) -> dict[str, Any]:
    """What a model of a kind is called with."""
    if kind == "images":
        return {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.tensor([1, 2])}
    if kind == "both":
        images = torch.randn(2, 3, 32, 32)
        return {"input_ids": tokens(), "pixel_values": images, "return_loss": True}
    if kind == "sound":
        return {"input_features": torch.randn(2, 8, 40), "labels": tokens()}
    return {"input_ids": tokens(), "labels": tokens()}


def step(name: str) -> list[float]:
    """The loss of a model, and the sum of its gradients' absolute values."""
    model_name, settings, kind = MODELS[name]
    model = built(model_name, settings)
    loss = model(**inputs_of(kind)).loss
    loss.backward()
    gradients = [p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None]
    return [loss.item(), sum(gradients)]


def generated(**how: Any) -> list[int]:
    """Tokens that a Llama continues two beginnings with."""
    model = built("LlamaForCausalLM", GROUPED)
    torch.manual_seed(2)
    start = tokens()[:, :4]
    mask = torch.ones_like(start)
    found = model.generate(start, attention_mask=mask, max_new_tokens=8, **how)
    return [int(token) for row in found.tolist() for token in row]


class Sequences(torch.utils.data.Dataset):  # type: ignore[type-arg, misc]
    """Sixteen sequences of ten tokens."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(index)
        row = torch.randint(5, 90, (10,), generator=generator)
        return {"input_ids": row, "labels": row, "attention_mask": torch.ones_like(row)}


def trained() -> list[float]:
    """The training loss that `Trainer` tells of a GPT-2 after two epochs."""
    model = built(*MODELS["GPT-2"][:2])
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            output_dir=folder, num_train_epochs=2, per_device_train_batch_size=4, report_to=[],
            save_strategy="no", logging_strategy="no", use_cpu=True, disable_tqdm=True, seed=3,
        )  # fmt: skip
        done = transformers.Trainer(model=model, args=settings, train_dataset=Sequences()).train()
    return [done.training_loss]


def saved_and_loaded() -> list[float]:
    """Whether a BERT that was saved and loaded gives the same, and what."""
    model = built("BertModel", SIZES)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = transformers.BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        first, second = (each(tokens()).last_hidden_state for each in (model, again))
    return [float(torch.equal(first, second)), first.abs().sum().item()]


def programs() -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """All that is run, by name."""
    for name in MODELS:
        yield name, lambda name=name: step(name)
    yield "generate, greedily", lambda: generated(do_sample=False)
    yield "generate, by beams", lambda: generated(num_beams=3, do_sample=False)
    yield "generate, by chance", lambda: generated(do_sample=True, top_k=10, temperature=0.8)
    yield "Trainer", trained
    yield "save and load", saved_and_loaded


def main() -> None:
    """Run all, or those named; a line of JSON each."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    wanted = sys.argv[1:]
    for name, program in programs():
        if wanted and name not in wanted:
            continue
        begin = time.perf_counter()
        try:
            row: dict[str, Any] = {"name": name, "numbers": program()}
        except Exception as error:
            row = {"name": name, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps({**row, "seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
