"""Radiance fields: rays through random pixels, rendered by the coarse and the fine network."""

import sys
import tempfile
from pathlib import Path

from driving import Record, on_path, stand_in

REPOSITORY = "yenchenlin/nerf-pytorch"
COMMIT = "63a5a630c9abd62b0f21c08703d0ac2ea7d4b9dd"


def run(folder: Path, record: Record) -> None:
    """Five steps as in its `train`, with stratified and importance sampling."""
    on_path(folder)
    stand_in("imageio", "cv2", "matplotlib", "matplotlib.pyplot", "configargparse")
    import argparse

    sys.modules["configargparse"] = argparse  # without files of settings
    import torch
    from run_nerf import create_nerf, render
    from run_nerf_helpers import get_rays, img2mse

    torch.set_default_tensor_type("torch.FloatTensor")
    with tempfile.TemporaryDirectory() as logs:
        (Path(logs) / "test").mkdir()
        args = argparse.Namespace(
            multires=6, multires_views=4, i_embed=0, use_viewdirs=True, N_importance=16,
            N_samples=16, netdepth=4, netwidth=64, netdepth_fine=4, netwidth_fine=64,
            netchunk=1024 * 64, lrate=5e-4, basedir=logs, expname="test", ft_path=None,
            no_reload=True, perturb=1.0, white_bkgd=True, raw_noise_std=1.0,
            dataset_type="blender", no_ndc=True, lindisp=False,
        )  # fmt: skip
        settings, _, _, _, optimizer = create_nerf(args)
    side, focal = 16, 20.0
    K = torch.tensor([[focal, 0, side / 2], [0, focal, side / 2], [0, 0, 1]]).numpy()
    rays = [ray.reshape(-1, 3)[:64] for ray in get_rays(side, side, K, torch.eye(4)[:3])]
    target = torch.rand(64, 3)
    for _ in range(5):
        rgb, _, _, extras = render(
            side, side, K, rays=torch.stack(rays), near=2.0, far=6.0, retraw=True, **settings
        )
        optimizer.zero_grad()
        loss = img2mse(rgb, target) + img2mse(extras["rgb0"], target)
        loss.backward()
        optimizer.step()
        record(loss.item())
