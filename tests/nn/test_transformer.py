"""Transformer layers: what a table of inputs and outputs does not show."""

import pytest

import lamina as torch
from lamina import nn
from lamina.nn.attention import SDPBackend, sdpa_kernel

ENDS = [[False, False, True, True], [False] * 4]
MIDDLE = [[False, True, False, True], [False] * 4]


def encoder(norm=None, **settings):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, norm, **settings).eval()


@pytest.mark.parametrize(
    ("settings", "mask", "is_zero"),
    [
        ({}, ENDS, True),
        ({}, MIDDLE, False),
        ({"mask_check": False}, MIDDLE, True),
        ({"enable_nested_tensor": False}, ENDS, False),
    ],
)
def test_padding_becomes_zero_where_pytorch_computes_with_nested_tensors(settings, mask, is_zero):
    x, padding = torch.randn(2, 4, 8), torch.tensor(mask)
    with torch.no_grad():
        output = encoder(**settings)(x, src_key_padding_mask=padding)
    assert bool((output[padding] == 0).all()) is is_zero
    recorded = encoder(**settings)(x, src_key_padding_mask=padding)
    assert bool((recorded[padding] != 0).all())
    assert torch.allclose(output[~padding], recorded[~padding], atol=1e-6)


def test_the_last_norm_comes_after_the_zeros():
    norm = nn.LayerNorm(8)
    nn.init.constant_(norm.bias, 3.0)
    with torch.no_grad():
        output = encoder(norm)(torch.randn(2, 4, 8), src_key_padding_mask=torch.tensor(ENDS))
    assert output[0, 2:].tolist() == [[3.0] * 8] * 2


def test_an_encoder_says_why_padding_stays():
    with pytest.warns(UserWarning, match=r"False because encoder_layer.norm_first was True"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, norm_first=True), 1)
    with pytest.warns(UserWarning, match=r"self_attn.batch_first was not True"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1)


def test_a_causal_mask_is_recognised():
    """Only with the mask itself recognised may the layers be told that it is causal."""
    seen = []
    stack = encoder()
    stack.layers[0].register_forward_hook(
        lambda module, args, kwargs, output: seen.append(kwargs["is_causal"]), with_kwargs=True
    )
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    x = torch.randn(2, 4, 8)
    for mask in (None, causal, causal != 0, torch.zeros(4, 4)):
        stack(x, mask=mask)
    assert seen == [False, True, True, False]


def test_a_mask_without_values_is_applied():
    """In a compiled program and on meta nobody looks at the mask, and the result is the same."""
    stack, x = encoder(), torch.randn(2, 4, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    compiled = torch.compile(lambda x, mask: stack(x, mask=mask))
    assert torch.allclose(compiled(x, causal), stack(x, mask=causal), atol=1e-6)
    meta = encoder().to("meta")
    assert meta(x.to("meta"), mask=causal.to("meta")).shape == x.shape


def test_boolean_and_added_masks_are_the_same():
    stack, x = encoder(), torch.randn(2, 4, 8)
    padding = torch.tensor(MIDDLE)
    added = torch.zeros(2, 4).masked_fill(padding, float("-inf"))
    expected = stack(x, src_key_padding_mask=padding)
    assert torch.equal(stack(x, src_key_padding_mask=added), expected)


def test_masks_of_two_kinds_warn():
    attention, x = nn.MultiheadAttention(4, 2), torch.ones(2, 3, 4)
    with pytest.warns(UserWarning, match="Support for mismatched key_padding_mask and attn_mask"):
        attention(x, x, x, torch.zeros(3, 2), attn_mask=torch.zeros(2, 2).bool())


def test_an_unknown_activation():
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not swish"):
        nn.TransformerEncoderLayer(4, 2, activation="swish")


def test_source_and_target_that_do_not_fit():
    model = nn.Transformer(4, 2, 1, 1, 8, batch_first=True)
    with pytest.raises(RuntimeError, match="batch number of src and tgt must be equal"):
        model(torch.ones(2, 3, 4), torch.ones(3, 3, 4))
    with pytest.raises(RuntimeError, match="feature number of src and tgt must be equal to d_m"):
        model(torch.ones(2, 3, 5), torch.ones(2, 3, 4))


def test_the_choice_of_a_kernel_is_accepted():
    q = torch.ones(1, 2, 4)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape
    with pytest.raises(AssertionError, match="must be an instance of SDPBackend"), sdpa_kernel(3):
        pass
