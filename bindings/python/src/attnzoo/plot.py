"""Pictures of attention, drawn with matplotlib, which is imported only when one is drawn."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ._checks import real_number, whole_number
from ._errors import InvalidArgumentError, ShapeError
from ._views import ArrayLike, float_operand

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_attention"]

#: Inches: of a panel's longer side, its shorter side at least, and around panels for labels.
_PANEL, _PANEL_LEAST, _MARGIN = 3.2, 1.1, 0.75
#: The most labels that an axis of a panel takes before only every so many are written.
_TICKS = 32
_POINTS_PER_INCH = 72
#: The most cells along an axis of a panel; where there are more weights, a cell stands for several.
_CELLS = 400
#: NaN, which is no weight: neither bright nor dark, and unlike every colour of the scale.
_NAN_COLOUR = "#d62728"
#: For texts that users give: what stands between dollar signs is no formula.
_PLAIN = {"parse_math": False}


def plot_attention(
    attention: ArrayLike,
    query_labels: Optional[Sequence[str]] = None,
    key_labels: Optional[Sequence[str]] = None,
    *,
    heads: Optional[Sequence[int]] = None,
    batch: int = 0,
    columns: Optional[int] = None,
    title: Optional[str] = None,
    query_name: str = "query",
    key_name: str = "key",
    maximum: Optional[float] = None,
    figure: Optional["Figure"] = None,
) -> "Figure":
    """Draws attention weights: one panel a head, keys across and queries down, one colour scale for all.

    Cells are as square as they can be; where there are many more keys than queries, or the other way round, they are
    stretched, so that the panel stays readable. Of very many weights a cell shows the largest of a few neighbours. NaN is
    drawn in red. Texts are drawn as they are: a dollar sign begins no formula.

    Args:
        attention: [B, H, N, M], [H, N, M] or [N, M], as return_attention=True gives it.
        query_labels: [N] texts, such as the tokens.
        key_labels: [M] texts.
        heads: which heads to draw, all by default.
        batch: which sequence of the batch.
        columns: panels side by side; chosen by default.
        title: above all panels.
        query_name, key_name: what the axes say.
        maximum: the weight that has the brightest colour; the largest by default.
        figure: a matplotlib figure to draw in, such as one of your own size; a new one by default.

    Returns:
        The matplotlib Figure: `figure.savefig("heads.png")`, or shown by itself in a notebook.

    Raises:
        ImportError: matplotlib is not installed.
        ShapeError, InvalidArgumentError: what is given does not fit.
    """
    if maximum is not None:
        maximum = real_number(maximum, "maximum")
        if not 0 < maximum < math.inf:
            raise InvalidArgumentError(f"maximum is {maximum}, must be above 0")
    weights, names = _select(attention, batch, heads)
    _check_labels("query_labels", query_labels, weights.shape[1])
    _check_labels("key_labels", key_labels, weights.shape[2])
    panels = len(names)
    width, height = _panel_size(weights.shape[1], weights.shape[2])
    if columns is None:
        columns = _choose_columns(panels, width, height)
    columns = min(whole_number(columns, "columns", least=1), panels)
    rows = math.ceil(panels / columns)
    drawn = _new_figure(figure, columns * (width + _MARGIN) + 0.8, rows * (height + _MARGIN) + (0.5 if title else 0.0))
    if maximum is None:
        finite = weights[np.isfinite(weights)]
        maximum = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    grid = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    image = None
    for number, axes in enumerate(grid.flat):
        if number >= panels:
            axes.set_axis_off()
            continue
        image = _draw_panel(axes, weights[number], maximum)
        if names[number]:
            axes.set_title(names[number], fontsize="medium")
        is_lowest = number + columns >= panels
        _label(axes.xaxis, key_labels, key_name, weights.shape[2], width, is_lowest)
        _label(axes.yaxis, query_labels, query_name, weights.shape[1], height, number % columns == 0)
    drawn.colorbar(image, ax=grid, label="weight", shrink=min(1.0, 2.5 / (rows * height)) if rows * height > 2.5 else 1.0)
    if title:
        drawn.suptitle(title, **_PLAIN)
    return drawn


def _select(attention: ArrayLike, batch: int, heads: Optional[Sequence[int]]) -> Tuple[NDArray[Any], Sequence[str]]:
    """The panels [heads, N, M] and what each is called."""
    weights = np.asarray(float_operand(attention, "attention").widened(), dtype=np.float32)
    if not 2 <= weights.ndim <= 4:
        raise ShapeError(f"attention has the shape {list(weights.shape)}, must have [B, H, N, M], [H, N, M] or [N, M]")
    sequences = weights.shape[0] if weights.ndim == 4 else 1
    batch = whole_number(batch, "batch", least=0)
    if batch >= sequences > 0:
        raise InvalidArgumentError(f"batch is {batch}, and attention has {sequences}")
    if 0 in weights.shape:
        raise ShapeError(f"attention has nothing to draw: its shape is {list(weights.shape)}")
    if weights.ndim == 4:
        weights = weights[batch]
    if weights.ndim == 2:
        weights = weights[np.newaxis]
    chosen = list(range(weights.shape[0])) if heads is None else _read_heads(heads)
    for head in chosen:
        if not 0 <= head < weights.shape[0]:
            raise InvalidArgumentError(f"there is no head {head}; attention has {weights.shape[0]}")
    if not chosen:
        raise InvalidArgumentError("heads is empty: there is nothing to draw")
    is_alone = weights.shape[0] == 1
    return weights[chosen], ["" if is_alone else f"head {head}" for head in chosen]


def _read_heads(heads: Sequence[int]) -> List[int]:
    try:
        numbers = list(heads)
    except TypeError:
        raise InvalidArgumentError(f"heads is {heads!r}, must be several numbers, such as [{heads!r}]") from None
    return [whole_number(head, "a number in heads") for head in numbers]


def _check_labels(name: str, labels: Optional[Sequence[str]], count: int) -> None:
    if labels is not None and len(labels) != count:
        raise ShapeError(f"{name} has {len(labels)} texts, must have {count}")


def _panel_size(queries: int, keys: int) -> Tuple[float, float]:
    """Width and height in inches."""
    longer = _PANEL * min(1.0, max(0.5, max(queries, keys) / 8))
    cell = longer / max(queries, keys)
    return max(keys * cell, _PANEL_LEAST), max(queries * cell, _PANEL_LEAST)


def _choose_columns(panels: int, width: float, height: float) -> int:
    """As many side by side as make the picture about as wide as 4:3."""
    best = math.sqrt(panels * 4 / 3 * (height + _MARGIN) / (width + _MARGIN))
    columns = max(1, min(panels, round(best)))
    # No more than the rows need, so that the last row is as full as can be.
    return math.ceil(panels / math.ceil(panels / columns))


def _new_figure(figure: Optional["Figure"], width: float, height: float) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("attnzoo.plot needs matplotlib (Debian: python3-matplotlib; pip: attnzoo[plot])") from error
    if figure is not None:
        return figure
    # Not through pyplot, which would choose a window system and keep the figure for good.
    return Figure(figsize=(max(width, 3.0), max(height, 2.2)), layout="constrained")


def _thinned(weights: NDArray[Any], axis: int) -> NDArray[Any]:
    """No more cells along an axis than a panel can show: the largest of each few, so that no bright spot is lost."""
    step = math.ceil(weights.shape[axis] / _CELLS)
    thinned: NDArray[Any] = np.maximum.reduceat(weights, range(0, weights.shape[axis], step), axis=axis)
    return thinned


def _draw_panel(axes: Any, weights: NDArray[Any], maximum: float) -> Any:
    from matplotlib import colormaps

    colours = colormaps["viridis"].with_extremes(bad=_NAN_COLOUR)
    # What is not finite has the colour for NaN.
    cells = _thinned(_thinned(weights, 0), 1)
    # The last cell of an axis may stand for fewer weights than the others, and is cut off there.
    bottom, right = (shown * math.ceil(count / _CELLS) - 0.5 for shown, count in zip(cells.shape, weights.shape))
    image = axes.imshow(cells, cmap=colours, vmin=0.0, vmax=maximum, aspect="auto", interpolation="nearest",
                        extent=(-0.5, right, bottom, -0.5))
    axes.set(xlim=(-0.5, weights.shape[1] - 0.5), ylim=(weights.shape[0] - 0.5, -0.5))
    return image


def _label(axis: Any, labels: Optional[Sequence[str]], name: str, count: int, inches: float, is_outer: bool) -> None:
    """Ticks and texts; only panels at the edge have texts."""
    is_across = axis.axis_name == "x"
    if is_outer:
        axis.set_label_text(name, **_PLAIN)
    # On a shared axis an inner panel hides its own texts.
    axis.set_tick_params(**{"labelbottom" if is_across else "labelleft": is_outer})
    if labels is None:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(nbins=min(8, max(1, count - 1)), integer=True))
        return
    step = max(1, math.ceil(count / _TICKS))
    places = list(range(0, count, step))
    size = max(4.0, min(9.0, 0.8 * inches * _POINTS_PER_INCH / len(places)))
    texts = [str(labels[place]) for place in places]
    is_long = is_across and max(len(text) for text in texts) * 0.6 * size > inches * _POINTS_PER_INCH / len(places)
    axis.set_ticks(places, texts, fontsize=size, rotation=90 if is_long else 0, **_PLAIN)
