"""A program that mypy checks as its user would: what the package promises about types. It is not run."""
from typing import Any

import numpy as np
from numpy.typing import NDArray

import attnzoo
from attnzoo.plot import plot_attention

query: NDArray[np.float32] = np.zeros((1, 2, 3, 4), np.float32)

context: NDArray[Any] = attnzoo.scaled_dot_product(query, query, query, causal=True)
pair: Any = attnzoo.scaled_dot_product(query, query, query, return_attention=True, executor=attnzoo.Executor(1))

layer: attnzoo.MultiHead = attnzoo.MultiHead(num_heads=2).load_safetensors("file", rename={"old": None})
state: attnzoo.State = layer.state(batch=1, capacity=8)
tokens: NDArray[Any] = layer(query[0], causal=True, state=state)
both: Any = layer(query[0], outputs=("attention",))
one: Any = layer(query[0], outputs="attention")
alone: NDArray[Any] = layer(query[0], outputs=())
fields: dict[str, NDArray[Any]] = state.fields()
names: tuple[str, ...] = attnzoo.mechanisms()
mask: attnzoo.Mask = attnzoo.Mask(window=(3, None)) & attnzoo.Mask(key_lengths=[1])
letters: NDArray[Any] = attnzoo.glimpse_letters("zoo", "oz", other="zero")
indices: NDArray[np.int64] = attnzoo.glimpse_letter_indices("zoo", "oz", other=2)
tiles: NDArray[Any] = attnzoo.glimpse_tiles(query[0, 0], (2, 2), [1, 1], edge="pad", padding=1.0)
windows: NDArray[Any] = attnzoo.glimpse_flat_view(attnzoo.glimpse_tile_view(query[0, 0, 0], 2, 1), 1)
count: int = attnzoo.glimpse_tile_count(5, 2)
picture: NDArray[Any] = attnzoo.glimpse_untile(tiles, (3, 4), (2, 2), (1, 1), edge="pad")
plot_attention(query).savefig("file.png")

attnzoo.MultiHead(num_head=2)  # type: ignore[call-arg]
layer(query[0], outputs=3)  # type: ignore[call-overload]
attnzoo.Mask(alignment=3)  # type: ignore[arg-type]
attnzoo.glimpse_tiles(query[0, 0], (2, 2), edge="keep")  # type: ignore[arg-type]
