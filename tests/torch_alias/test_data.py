"""Loading data in programs that say `import torch`."""

import lamina.utils.data


def test_names_are_found_where_programs_look_for_them(alias):
    from torch.utils.data._utils.collate import default_collate
    from torch.utils.data.dataloader import default_collate as the_same
    from torch.utils.data.sampler import RandomSampler

    assert default_collate is the_same is lamina.utils.data.default_collate
    assert RandomSampler is lamina.utils.data.RandomSampler


def test_modules_are_reached_through_their_packages(alias):
    import torch

    assert torch.utils.data.distributed.DistributedSampler.__name__ == "DistributedSampler"
    assert torch.utils._pytree.tree_map(abs, [-1]) == [1]
    assert torch.utils.dlpack.to_dlpack(torch.ones(1)) is not None
