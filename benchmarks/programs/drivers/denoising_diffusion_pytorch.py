"""Diffusion of images: a small U-net, trained on noise, and sampled."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "lucidrains/denoising-diffusion-pytorch"
COMMIT = "faed4db28e724735323fa91c70aa9b28a6e1cbac"


def run(folder: Path, record: Record) -> None:
    """Three steps of training, and images sampled in four. Needs ema-pytorch beside it."""
    on_path(folder)
    on_path(folder.parent / "ema-pytorch")
    stand_in("torchvision", "torchvision.transforms", "torchvision.datasets", "accelerate", "PIL")
    stand_in("pytorch_fid", "pytorch_fid.fid_score", "pytorch_fid.inception")
    import torch
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=4)
    images = torch.rand(2, 3, 16, 16)
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
    train(optimizer, lambda: diffusion(images), 3, record)
    record(diffusion.sample(batch_size=2).mean())
