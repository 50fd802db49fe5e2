"""Against PyTorch, where it is installed: tensors in, nn.MultiheadAttention, its masks."""
import numpy as np
import pytest

import attnzoo
import reference
from attnzoo import Mask


@pytest.fixture
def module(torch):
    torch.manual_seed(0)
    made = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    # Biases are zero at first.
    torch.nn.init.normal_(made.in_proj_bias)
    torch.nn.init.normal_(made.out_proj.bias)
    return made.eval()


@pytest.fixture
def tensors(torch):
    return torch.randn(2, 5, 16), torch.randn(2, 7, 16), torch.randn(2, 7, 16)


def run(torch, module, *tensors, **options):
    with torch.no_grad():
        context, attention = module(*tensors, **options)
    return context.numpy(), attention.numpy()


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=reference.tolerance(16, 4))


def test_state_dict_as_it_is(torch, module, tensors):
    layer = attnzoo.MultiHead(4, average_heads=True).load_state_dict(module.state_dict())
    context, attention = layer(*tensors, return_attention=True)
    expected, weights = run(torch, module, *tensors)
    close(context, expected)
    close(attention, weights)


def test_state_dict_with_sizes_of_their_own(torch, tensors):
    module = torch.nn.MultiheadAttention(16, 4, kdim=6, vdim=10, bias=False, batch_first=True).eval()
    layer = attnzoo.MultiHead(4).load_state_dict(module.state_dict())
    inputs = tensors[0], tensors[1][..., :6], tensors[2][..., :10]
    close(layer(*inputs), run(torch, module, *inputs)[0])


def test_parameters_in_training(torch, module, tensors):
    layer = attnzoo.MultiHead(4).load_state_dict(dict(module.named_parameters()))
    close(layer(*tensors), run(torch, module, *tensors)[0])


def test_a_file_written_through_numpy(torch, module, tensors):
    arrays = {f"block.attn.{name}": tensor.numpy() for name, tensor in module.state_dict().items()}
    layer = attnzoo.MultiHead(4).load_state_dict(arrays, prefix="block.attn.")
    close(layer(*tensors), run(torch, module, *tensors)[0])


def test_bias_k_is_refused(torch):
    module = torch.nn.MultiheadAttention(8, 2, add_bias_kv=True)
    with pytest.raises(attnzoo.UnsupportedError, match="bias_k"):
        attnzoo.MultiHead(2).load_state_dict(module.state_dict())


def test_polarity_of_masks(torch, module, tensors):
    padding = torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0, 0]], dtype=torch.bool)
    later = torch.triu(torch.ones(5, 7, dtype=torch.bool), diagonal=3)
    bias = torch.randn(8, 5, 7)
    layer = attnzoo.MultiHead(4).load_state_dict(module.state_dict())
    for options in (dict(key_padding_mask=padding), dict(attn_mask=later), dict(key_padding_mask=padding, attn_mask=later),
                    dict(attn_mask=bias)):
        expected, _ = run(torch, module, *tensors, **options)
        close(layer(*tensors, mask=Mask.from_torch(num_heads=4, **options)), expected)
    # What the documents say in words: inverted, and with axes for heads and queries.
    close(layer(*tensors, mask=~padding[:, None, None, :]), run(torch, module, *tensors, key_padding_mask=padding)[0])


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
def test_element_types(torch, tensors, kind):
    narrow = [tensor.to(getattr(torch, kind)) for tensor in tensors]
    wide = [tensor.to(torch.float32).numpy() for tensor in narrow]
    context = attnzoo.scaled_dot_product(*narrow)
    assert context.dtype == (np.float16 if kind == "float16" else np.float32)
    expected, _ = reference.scaled_dot_product(*[array[None] for array in wide])
    np.testing.assert_allclose(context, expected[0], rtol=0,
                               atol=reference.tolerance(16, 4, 2.0**-11 if kind == "float16" else 0))


def test_strides_and_outputs(torch, tensors):
    query, key, value = (tensor.reshape(2, -1, 4, 4).transpose(1, 2) for tensor in tensors)
    expected, _ = reference.scaled_dot_product(query, key, value)
    out = torch.zeros(2, 5, 4, 4).transpose(1, 2)
    assert attnzoo.scaled_dot_product(query, key, value, out=out) is out
    close(out.numpy(), expected)
    brain = torch.zeros(2, 4, 5, 4, dtype=torch.bfloat16)
    attnzoo.scaled_dot_product(query, key, value, out=brain)
    np.testing.assert_allclose(brain.float().numpy(), expected, rtol=2.0**-8, atol=1e-5)


def test_a_tensor_in_training_is_refused(torch):
    tensor = torch.zeros(2, 2, requires_grad=True)
    with pytest.raises((RuntimeError, BufferError), match="grad"):
        attnzoo.scaled_dot_product(tensor, tensor.detach(), tensor.detach())


def test_lengths_and_segments(torch, tensors):
    query, key, value = tensors
    np.testing.assert_array_equal(
        attnzoo.scaled_dot_product(query[:, None], key[:, None], value[:, None], key_lengths=torch.tensor([3, 7])),
        attnzoo.scaled_dot_product(query[:, None], key[:, None], value[:, None], key_lengths=[3, 7]))
    ids = torch.tensor([0, 0, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(
        attnzoo.scaled_dot_product(query[0], key[0], value[0], mask=Mask(segments=ids)),
        attnzoo.scaled_dot_product(query[0], key[0], value[0], mask=Mask(segments=ids.tolist())))


def test_empty_tensors(torch):
    none, keys = torch.empty(1, 0, 4), torch.ones(1, 3, 4)
    assert attnzoo.scaled_dot_product(none, keys, keys).shape == (1, 0, 4)
    np.testing.assert_array_equal(attnzoo.scaled_dot_product(keys, none, none), np.zeros((1, 3, 4)))
    assert attnzoo.scaled_dot_product(none, keys, keys, mask=Mask(bias=torch.empty(0, 3)), out=none) is none
