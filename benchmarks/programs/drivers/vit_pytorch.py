"""Vision transformers: a dozen of the collection, on random images."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "lucidrains/vit-pytorch"
COMMIT = "69d24fe9e3024c0d4b02761123b8583a24ebed1e"


def run(folder: Path, record: Record) -> None:
    """Two steps with each."""
    on_path(folder)
    stand_in("torchvision", "torchvision.transforms")
    import torch
    from vit_pytorch import (
        SimpleViT,
        ViT,
        cait,
        deepvit,
        nest,
    )
    from vit_pytorch.cvt import CvT
    from vit_pytorch.simple_flash_attn_vit import SimpleViT as FlashViT
    from vit_pytorch.t2t import T2TViT

    plain = {"image_size": 32, "patch_size": 8, "num_classes": 10}
    plain |= {"dim": 32, "depth": 2, "heads": 2}
    mlp = {"mlp_dim": 64}
    dropped = {"dropout": 0.1, "emb_dropout": 0.1}
    nets = [
        ViT(**plain, **mlp, **dropped),
        SimpleViT(**plain, **mlp),
        FlashViT(**plain, **mlp),
        deepvit.DeepViT(**plain, **mlp, **dropped),
        cait.CaiT(**plain, **mlp, **dropped, cls_depth=1, layer_dropout=0.05),
        nest.NesT(image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2,
                  block_repeats=(1, 1), num_classes=10),
        T2TViT(dim=32, image_size=32, depth=1, heads=2, mlp_dim=64, num_classes=10,
               t2t_layers=((3, 2), (3, 2))),
        CvT(num_classes=10, s1_emb_dim=16, s2_emb_dim=16, s3_emb_dim=16, s2_heads=1, s3_heads=1,
            s3_depth=1),
    ]  # fmt: skip
    images, labels = torch.randn(2, 3, 32, 32), torch.randint(0, 10, (2,))
    for net in nets:
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

        def loss(net=net) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(net(images), labels)

        train(optimizer, loss, 2, record)
