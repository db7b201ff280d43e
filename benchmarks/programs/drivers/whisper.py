"""Whisper: spectrograms of made-up sound, and its model with small dimensions, which is trained."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "openai/whisper"
COMMIT = "c0d2f624c09dc18e709e37c2ad90c039a4eb72a2"


def run(folder: Path, record: Record) -> None:
    """A spectrogram, five steps, and a step with the cache of keys and values."""
    on_path(folder)
    stand_in("numba", "tiktoken")
    import torch
    from whisper import ModelDimensions, Whisper, log_mel_spectrogram, pad_or_trim

    seconds = torch.arange(16000 * 2) / 16000
    sound = torch.sin(440 * 6.2831853 * seconds * (1 + 0.1 * seconds))
    mel = log_mel_spectrogram(pad_or_trim(sound, 16000 * 2))
    record(mel.mean())
    record(mel.std())
    model = Whisper(ModelDimensions(80, 100, 64, 2, 2, 200, 32, 64, 2, 2))
    torch.nn.init.normal_(model.decoder.positional_embedding)
    tokens = torch.randint(0, 200, (1, 12))

    def loss() -> torch.Tensor:
        logits = model(mel[None], tokens[:, :-1])
        return torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:])

    train(torch.optim.AdamW(model.parameters(), lr=1e-3), loss, 5, record)
    with torch.no_grad():
        audio = model.embed_audio(mel[None])
        cache, hooks = model.install_kv_cache_hooks()
        model.decoder(tokens[:, :5], audio, kv_cache=cache)
        record(model.decoder(tokens[:, 5:6], audio, kv_cache=cache).std())
        for hook in hooks:
            hook.remove()
