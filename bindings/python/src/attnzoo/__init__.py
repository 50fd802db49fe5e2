"""Attention mechanisms on NumPy arrays, computed by libattnzoo.

    import attnzoo
    context = attnzoo.scaled_dot_product(query, key, value, causal=True)

    layer = attnzoo.MultiHead(num_heads=8).load_safetensors("model.safetensors", prefix="layers.0.self_attn.")
    context, attention = layer(tokens, causal=True, return_attention=True)

Start at `scaled_dot_product`, `MultiHead` and `Mask`. `mechanisms()` and `describe(name)` tell what there is; `Module`
runs any of it. `glimpse_letters`, `glimpse_tiles` and others make sequences of text, images, video and audio. Everything
computes the forward pass on the CPU in float32 arithmetic, for inference.
"""
from ._errors import (BadStateError, DtypeError, Error, InvalidArgumentError, OutOfMemoryError, OverlapError, ShapeError,
                      SystemCallError, UnknownNameError, UnsupportedError)
from ._executor import Executor, default_executor, set_default_executor
from ._functions import merge, relative_positions, scaled_dot_product, sinusoidal_positions
from ._glimpses import (glimpse_embedding, glimpse_flat_view, glimpse_letter_indices, glimpse_letters,
                        glimpse_tile_count, glimpse_tile_view, glimpse_tiles, glimpse_untile)
from ._introspection import Description, describe, mechanisms
from ._library import build_information, library_version
from ._mask import Mask
from ._mechanisms import Additive, LocationAware, MultiHead, RelativeMultiHead, ScaledDotProduct
from ._module import Module
from ._state import State
from ._version import version as _version
from ._views import BFloat16Array
from .safetensors import SafetensorsFile, read_safetensors

__version__ = _version

__all__ = [
    "Additive",
    "BFloat16Array",
    "BadStateError",
    "Description",
    "DtypeError",
    "Error",
    "Executor",
    "InvalidArgumentError",
    "LocationAware",
    "Mask",
    "Module",
    "MultiHead",
    "OutOfMemoryError",
    "OverlapError",
    "RelativeMultiHead",
    "SafetensorsFile",
    "ScaledDotProduct",
    "ShapeError",
    "State",
    "SystemCallError",
    "UnknownNameError",
    "UnsupportedError",
    "__version__",
    "build_information",
    "default_executor",
    "describe",
    "glimpse_embedding",
    "glimpse_flat_view",
    "glimpse_letter_indices",
    "glimpse_letters",
    "glimpse_tile_count",
    "glimpse_tile_view",
    "glimpse_tiles",
    "glimpse_untile",
    "library_version",
    "mechanisms",
    "merge",
    "read_safetensors",
    "relative_positions",
    "scaled_dot_product",
    "set_default_executor",
    "sinusoidal_positions",
]
