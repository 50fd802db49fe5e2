"""One class a mechanism, for its options by name and its texts. They add nothing to `Module`, which serves mechanisms
that have no class here just as well.
"""
from __future__ import annotations

from typing import Literal, Mapping, Optional

from ._keywords import tells_keywords
from ._module import Module
from ._views import ArrayLike

__all__ = ["Additive", "LocationAware", "MultiHead", "RelativeMultiHead", "ScaledDotProduct"]

Parameters = Optional[Mapping[str, ArrayLike]]


class ScaledDotProduct(Module):
    """softmax(scale query key^T) value, for heads that are projected and split already (Vaswani et al. 2017).

    query [B, H, N, D], key [B, G, M, D], value [B, G, M, Dv] -> context [B, H, N, Dv]; query head h reads key and value
    head h // (H // G). `attnzoo.scaled_dot_product` does the same without a module.

    Args:
        scale: multiplies query . key; 1/sqrt(D) by default.
        softcap: c > 0 bounds the scores, c tanh(score / c), before biases and masks; 0 is off.
    """

    __slots__ = ()

    @tells_keywords
    def __init__(self, *, scale: Optional[float] = None, softcap: Optional[float] = None) -> None:
        super().__init__("scaled_dot_product", scale=scale, softcap=softcap)


class MultiHead(Module):
    """The attention layer of transformers: scaled dot products in several projected heads (Vaswani et al. 2017).

    query [B, N, Eq], key [B, M, Ek], value [B, M, Ev] -> context [B, N, Eo]. State: a cache of keys and values.

    Args:
        num_heads: H. No file of weights tells it.
        num_kv_heads: G, which divides H; H by default.
        scale: multiplies the scores; 1/sqrt(D) by default, D being the size of a head.
        softcap: c > 0 bounds the scores, c tanh(score / c), before biases and masks; 0 is off.
        average_heads: the attention is the mean over heads, [B, N, M].
        rotary: turns queries and keys by their positions: "none" (the default), "interleaved" (columns 2i and 2i+1 of a
            head together) or "half_split" (i and i+R/2). Calls may then tell positions, integers: query_positions= [B, N]
            and key_positions= [B, M].
        rotary_size: R, the first columns of each head that are turned; 0, the default, is all of them.
        rotary_base: pair i turns by base^(-2i/R) a position; 10000 by default.
        relative_max_distance: the distance from which on relative_buckets has one bucket; 128 by default.
        relative_bidirectional: half of relative_buckets is for keys behind the query; true by default.
        parameters: query_proj.weight [H*D, Eq], key_proj.weight [G*D, Ek], value_proj.weight [G*Dv, Ev], out_proj.weight
            [Eo, H*Dv], each with a .bias; out_proj and the biases are optional, as are rotary_cos and rotary_sin,
            relative_buckets [buckets, H] and sink [H]. Or load them:

    >>> import attnzoo, numpy
    >>> layer = attnzoo.MultiHead(num_heads=2)
    >>> eye = numpy.eye(4, dtype=numpy.float32)
    >>> _ = layer.load_state_dict({f"{name}_proj.weight": eye for name in ("query", "key", "value")})
    >>> layer(numpy.ones((1, 3, 4), numpy.float32)).shape
    (1, 3, 4)
    """

    __slots__ = ()

    @tells_keywords
    def __init__(self, num_heads: int = 1, *, num_kv_heads: Optional[int] = None, scale: Optional[float] = None,
                 softcap: Optional[float] = None, average_heads: Optional[bool] = None,
                 rotary: Optional[Literal["none", "interleaved", "half_split"]] = None,
                 rotary_size: Optional[int] = None, rotary_base: Optional[float] = None,
                 relative_max_distance: Optional[int] = None, relative_bidirectional: Optional[bool] = None,
                 parameters: Parameters = None) -> None:
        super().__init__("multi_head", parameters=parameters, num_heads=num_heads, num_kv_heads=num_kv_heads,
                         scale=scale, softcap=softcap, average_heads=average_heads, rotary=rotary,
                         rotary_size=rotary_size, rotary_base=rotary_base,
                         relative_max_distance=relative_max_distance, relative_bidirectional=relative_bidirectional)


class RelativeMultiHead(Module):
    """Multi-head attention that knows the distance from query to key (Dai et al. 2019; Shaw et al. 2018).

    query [B, N, Eq], key [B, M, Ek], value [B, M, Ev] -> context [B, N, Eo]; with flavor="transformer_xl" also
    position= [P, E] or [B, P, E], which `attnzoo.relative_positions` makes. State: a cache of keys and values.

    Args:
        num_heads, num_kv_heads, scale, softcap, average_heads: as `MultiHead`.
        flavor: "transformer_xl" (the default) or "shaw".
        parameters: those of `MultiHead`; pos_proj.weight [H*D, E], pos_proj.bias, u_bias and v_bias [H, D] for
            transformer_xl; relative_key [2k+1, D] and relative_value [2k+1, Dv] for shaw.
    """

    __slots__ = ()

    @tells_keywords
    def __init__(self, num_heads: int = 1, *, num_kv_heads: Optional[int] = None, scale: Optional[float] = None,
                 softcap: Optional[float] = None, average_heads: Optional[bool] = None,
                 flavor: Optional[Literal["transformer_xl", "shaw"]] = None, parameters: Parameters = None) -> None:
        super().__init__("relative_multi_head", parameters=parameters, num_heads=num_heads, num_kv_heads=num_kv_heads,
                         scale=scale, softcap=softcap, average_heads=average_heads, flavor=flavor)


class Additive(Module):
    """Attention by a small network's score of query and key together (Bahdanau et al. 2015).

    query [B, N, Eq], key [B, M, Ek], value [B, M, Ev] -> context [B, N, Dv]; score = w . tanh(Wq q + Wk k + b) + b_w.

    Args:
        num_heads, num_kv_heads: 1, which is all that the mechanism has.
        parameters: score_proj.weight [1, A]; optional: query_proj.weight [A, Eq], key_proj.weight [A, Ek],
            value_proj.weight [Dv, Ev], each with a .bias, bias [A], score_proj.bias [1].
    """

    __slots__ = ()

    @tells_keywords
    def __init__(self, *, num_heads: Optional[int] = None, num_kv_heads: Optional[int] = None,
                 parameters: Parameters = None) -> None:
        super().__init__("additive", parameters=parameters, num_heads=num_heads, num_kv_heads=num_kv_heads)


class LocationAware(Module):
    """Additive attention, step by step, that sees where it attended before (Chorowski et al. 2015).

    query [B, N, Eq] (N steps in order), key [B, M, Ek], value [B, M, Ev] -> context [B, N, H*Dv]. State: the alignment,
    so that a decoder can take one step a call.

    Args:
        num_heads: H, each with an alignment of its own.
        num_kv_heads: G, which divides H.
        normalizer: "softmax" (the default) or "smoothing": sigmoids over their sum.
        sharpening: multiplies the scores; 1 by default.
        location_window: w > 0 keeps the keys within w of the likeliest key of the step before; 0 is off.
        feedback: what the convolution sees: the "previous" alignment (the default), the "cumulative" sum, or "both".
        initial: the alignment before the first step: "zeros" (the default), "uniform" or "first".
        location_activation: "none" (the default) or "tanh", on the location term before it is added.
        parameters: those of `Additive`, of H*A, G*A and G*Dv rows; location_conv.weight [F, channels, W] with W odd,
            location_proj.weight [A, F], each with a .bias.
    """

    __slots__ = ()

    @tells_keywords
    def __init__(self, num_heads: int = 1, *, num_kv_heads: Optional[int] = None,
                 normalizer: Optional[Literal["softmax", "smoothing"]] = None, sharpening: Optional[float] = None,
                 location_window: Optional[int] = None,
                 feedback: Optional[Literal["previous", "cumulative", "both"]] = None,
                 initial: Optional[Literal["zeros", "uniform", "first"]] = None,
                 location_activation: Optional[Literal["none", "tanh"]] = None, parameters: Parameters = None) -> None:
        super().__init__("location_aware", parameters=parameters, num_heads=num_heads, num_kv_heads=num_kv_heads,
                         normalizer=normalizer, sharpening=sharpening, location_window=location_window,
                         feedback=feedback, initial=initial, location_activation=location_activation)
