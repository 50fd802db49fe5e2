"""What is compared: the calls, their sizes, and how many times as fast as each peer ours should be.

A case tells its kind, its sizes and its inputs, which compare.py fills with numbers and writes to files; every worker
knows how its library does a kind. What a worker cannot do it says.
"""
import dataclasses
import math

ONNX_RUNTIME, PYTORCH = "ONNX Runtime", "PyTorch"

# B, H, N, M, D
SHAPES = [(1, 8, 512, 512, 64), (1, 12, 1024, 1024, 64), (1, 8, 2048, 2048, 64), (1, 8, 2048, 2048, 128),
          (1, 4, 8192, 8192, 64), (8, 12, 128, 128, 64)]

# The geometric mean over the calls that are not causal.
MEAN_GOAL = {ONNX_RUNTIME: 1.15}


@dataclasses.dataclass
class Case:
    kind: str
    sizes: dict
    inputs: dict
    """Shapes by name; a last size n bounds the numbers of a weight to 1/sqrt(n)."""
    weights: tuple = ()
    is_causal: bool = False
    goals: dict = dataclasses.field(default_factory=dict)
    counts_in_mean: bool = False

    def __str__(self):
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        return f"{self.kind}, causal: {sizes}" if self.is_causal else f"{self.kind}: {sizes}"


def attention(shape, is_causal):
    batch, heads, queries, keys, size = shape
    goals = {ONNX_RUNTIME: 2.2 if is_causal else 1.4 if queries == 1 else 1.0}
    if queries >= 512:
        goals[PYTORCH] = 2.0
    return Case(kind="scaled_dot_product", sizes=dict(zip("BHNMD", shape)), is_causal=is_causal, goals=goals,
                inputs={"query": (batch, heads, queries, size), "key": (batch, heads, keys, size),
                        "value": (batch, heads, keys, size)}, counts_in_mean=queries > 1 and not is_causal)


def multi_head(length, features, heads):
    weights = ("query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight")
    return Case(kind="multi_head", sizes={"N": length, "E": features, "H": heads}, weights=weights,
                inputs={"query": (1, length, features), **{name: (features, features) for name in weights}})


def additive(queries, keys, hidden):
    return Case(kind="additive", sizes={"N": queries, "M": keys, "A": hidden}, goals={PYTORCH: 8.0},
                weights=("query_proj.weight", "key_proj.weight", "score_proj.weight"),
                inputs={"query": (1, queries, hidden), "key": (1, keys, hidden), "value": (1, keys, hidden),
                        "query_proj.weight": (hidden, hidden), "key_proj.weight": (hidden, hidden),
                        "score_proj.weight": (1, hidden)})


def location_aware(keys, hidden, filters, width):
    case = additive(1, keys, hidden)
    case.inputs.update({"location_conv.weight": (filters, 1, width), "location_proj.weight": (hidden, filters)})
    return Case(kind="location_aware", sizes={"M": keys, "A": hidden, "F": filters, "W": width}, goals={PYTORCH: 4.0},
                inputs=case.inputs, weights=case.weights + ("location_conv.weight", "location_proj.weight"))


CASES = [attention(shape, is_causal) for is_causal in (False, True) for shape in SHAPES]
CASES += [attention((1, 32, 1, 4096, 128), False), multi_head(128, 512, 8), additive(256, 1024, 256),
          additive(1024, 1024, 256), location_aware(1000, 512, 32, 31)]


def weight_bound(shape):
    return 1 / math.sqrt(shape[-1])
