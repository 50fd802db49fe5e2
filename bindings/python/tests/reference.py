"""Attention in plain NumPy, in float64, by the formulas of the papers. It shares no code with the package or the library.

Shapes carry all axes here: [B, H, N, D] and so on.
"""
import numpy as np

EPSILON = 2.0**-24


def tolerance(length, magnitude, rounding=0.0):
    """How far float32 arithmetic may be off.

    Rounding errors of random sign grow with the root of the number of terms summed; there are up to five sums in a row
    (projections, scores, softmax, values, output), each with a few roundings besides. `rounding` is the unit of an output
    of 16 bits, rounded once.
    """
    return (16 * EPSILON * np.sqrt(length) + rounding) * magnitude


def visible(batch, heads, queries, keys, *, causal=False, window=None, key_lengths=None, query_lengths=None, boolean=None,
            segments=None, offset=None):
    """What may be seen, [B, H, N, M], one query and key at a time."""
    seen = np.ones((batch, heads, queries, keys), bool)
    for b in range(batch):
        start = keys - queries if offset is None else (offset[b] if np.ndim(offset) else offset)
        for i in range(queries):
            for j in range(keys):
                position = start + i
                ok = not causal or j <= position
                if window is not None:
                    ok &= window[0] < 0 or j >= position - window[0]
                    ok &= window[1] < 0 or j <= position + window[1]
                if key_lengths is not None:
                    ok &= j < key_lengths[b]
                if query_lengths is not None:
                    ok &= i < query_lengths[b]
                if segments is not None:
                    ok &= segments[b][position] == segments[b][j]
                seen[b, :, i, j] = ok
    if boolean is not None:
        seen &= np.broadcast_to(boolean, seen.shape)
    return seen


def softmax(scores, seen):
    """Weights over the last axis; zeros where nothing is seen."""
    weights = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        row = scores[index][seen[index]]
        if row.size:
            powers = np.exp(row - row.max())
            weights[index][seen[index]] = powers / powers.sum()
    return weights


def expand_heads(array, heads):
    return np.repeat(array, heads // array.shape[1], axis=1)


def scaled_dot_product(query, key, value, seen=None, bias=0.0, scale=None, softcap=0.0):
    """Context and attention."""
    query, key, value = (np.asarray(array, np.float64) for array in (query, key, value))
    key, value = expand_heads(key, query.shape[1]), expand_heads(value, query.shape[1])
    scores = np.einsum("bhnd,bhmd->bhnm", query, key) * (query.shape[-1]**-0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores + bias
    weights = softmax(scores, np.ones(scores.shape, bool) if seen is None else seen)
    return np.einsum("bhnm,bhmd->bhnd", weights, value), weights


def project(array, weights, name):
    if f"{name}.weight" not in weights:
        return np.asarray(array, np.float64)
    made = np.asarray(array, np.float64) @ np.asarray(weights[f"{name}.weight"], np.float64).T
    return made + weights.get(f"{name}.bias", 0.0)


def split(array, heads):
    return array.reshape(*array.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def join(array):
    return array.transpose(0, 2, 1, 3).reshape(array.shape[0], array.shape[2], -1)


def multi_head(query, key, value, weights, heads, kv_heads=None, seen=None):
    kv_heads = kv_heads or heads
    context, attention = scaled_dot_product(split(project(query, weights, "query_proj"), heads),
                                            split(project(key, weights, "key_proj"), kv_heads),
                                            split(project(value, weights, "value_proj"), kv_heads), seen)
    return project(join(context), weights, "out_proj"), attention


def transformer_xl(query, key, value, position, weights, heads, seen=None):
    """Every pair by its explicit distance."""
    q = split(project(query, weights, "query_proj"), heads)
    k = split(project(key, weights, "key_proj"), heads)
    v = split(project(value, weights, "value_proj"), heads)
    r = project(position, weights, "pos_proj").reshape(len(position), heads, -1)
    queries, keys = q.shape[2], k.shape[2]
    scores = np.zeros(q.shape[:3] + (keys,))
    for i in range(queries):
        for j in range(keys):
            distance = keys - queries + i - j
            row = r[keys - 1 - distance]
            scores[:, :, i, j] = (np.einsum("bhd,bhd->bh", q[:, :, i] + weights["u_bias"], k[:, :, j]) +
                                  np.einsum("bhd,hd->bh", q[:, :, i] + weights["v_bias"], row))
    attention = softmax(scores * q.shape[-1]**-0.5, np.ones(scores.shape, bool) if seen is None else seen)
    return project(join(np.einsum("bhnm,bhmd->bhnd", attention, v)), weights, "out_proj"), attention


def shaw(query, key, value, weights, heads):
    q = split(project(query, weights, "query_proj"), heads)
    k = split(project(key, weights, "key_proj"), heads)
    v = split(project(value, weights, "value_proj"), heads)
    queries, keys, reach = q.shape[2], k.shape[2], len(weights["relative_key"]) // 2
    place = np.clip(np.arange(keys)[None, :] - np.arange(queries)[:, None] - (keys - queries), -reach, reach) + reach
    scores = (np.einsum("bhnd,bhmd->bhnm", q, k) +
              np.einsum("bhnd,nmd->bhnm", q, weights["relative_key"][place])) * q.shape[-1]**-0.5
    attention = softmax(scores, np.ones(scores.shape, bool))
    context = (np.einsum("bhnm,bhmd->bhnd", attention, v) +
               np.einsum("bhnm,nmd->bhnd", attention, weights["relative_value"][place]))
    return project(join(context), weights, "out_proj"), attention


def hidden_units(query, key, weights):
    units = project(query, weights, "query_proj")[:, :, None] + project(key, weights, "key_proj")[:, None]
    return units + weights.get("bias", 0.0)


def additive(query, key, value, weights, seen=None):
    """Attention [B, N, M]."""
    scores = project(np.tanh(hidden_units(query, key, weights)), weights, "score_proj")[..., 0]
    attention = softmax(scores, np.ones(scores.shape, bool) if seen is None else seen)
    return attention @ project(value, weights, "value_proj"), attention


def location_aware(query, key, value, weights, alignment=None):
    """One head, feedback=previous, initial=zeros. Attention [B, N, M]."""
    units = hidden_units(query, key, weights)
    conv = np.asarray(weights["location_conv.weight"], np.float64)[:, 0]
    batch, queries, keys = units.shape[:3]
    alignment = np.zeros((batch, keys)) if alignment is None else alignment
    attention = np.zeros((batch, queries, keys))
    half = conv.shape[1] // 2
    for step in range(queries):
        padded = np.pad(alignment, ((0, 0), (half, half)))
        features = np.stack([padded[:, j:j + conv.shape[1]] @ conv.T for j in range(keys)], axis=1)
        located = np.tanh(units[:, step] + project(features, weights, "location_proj"))
        scores = project(located, weights, "score_proj")[..., 0]
        alignment = attention[:, step] = softmax(scores, np.ones(scores.shape, bool))
    return attention @ project(value, weights, "value_proj"), attention
