"""Pictures of attention: what is in them, not how they look."""
import io
import sys

import numpy as np
import pytest

import attnzoo

pytest.importorskip("matplotlib", reason="matplotlib is not installed (Debian: python3-matplotlib)")
plot_attention = pytest.importorskip("attnzoo.plot").plot_attention


@pytest.fixture
def attention(random):
    return random.dirichlet(np.ones(6), (2, 3, 4)).astype(np.float32)


def panels(figure):
    return [axes for axes in figure.axes if axes.get_visible() and axes.images]


def test_one_panel_a_head(attention):
    figure = plot_attention(attention, list("abcd"), list("uvwxyz"), batch=1, title="what looks where")
    drawn = panels(figure)
    assert [axes.get_title() for axes in drawn] == ["head 0", "head 1", "head 2"]
    for head, axes in enumerate(drawn):
        np.testing.assert_array_equal(axes.images[0].get_array(), attention[1, head])
        assert axes.images[0].get_clim() == (0, attention[1].max())
    figure.canvas.draw()
    assert [text.get_text() for text in drawn[0].get_yticklabels()] == list("abcd")
    assert [text.get_text() for text in drawn[-1].get_xticklabels()] == list("uvwxyz")
    assert drawn[-1].get_xlabel() == "key" and drawn[0].get_ylabel() == "query"
    assert any(axes.get_ylabel() == "weight" for axes in figure.axes)
    # The first query is at the top.
    assert drawn[0].get_ylim()[0] > drawn[0].get_ylim()[1]


def test_heads_columns_and_maximum(attention):
    figure = plot_attention(attention[0], heads=[2, 0], columns=1, maximum=1.0)
    assert [axes.get_title() for axes in panels(figure)] == ["head 2", "head 0"]
    assert panels(figure)[0].images[0].get_clim() == (0, 1)
    assert panels(plot_attention(attention[0, 0]))[0].get_title() == ""


def test_nan_is_seen(attention):
    """P59: a NaN neither blanks the picture nor breaks the scale."""
    attention[0, 0, 1, 2] = np.nan
    figure = plot_attention(attention)
    image = panels(figure)[0].images[0]
    assert np.isfinite(image.get_clim()).all()
    colours = image.to_rgba(image.get_array())
    assert colours[1, 2, 0] > 0.8 and colours[1, 2, 2] < 0.3
    plot_attention(np.full((2, 2), np.nan)).savefig(io.BytesIO())
    plot_attention(np.zeros((2, 2))).savefig(io.BytesIO())


@pytest.mark.parametrize("shape", [(1, 1), (3, 2000), (900, 3), (1, 1, 1, 1), (12, 5, 5)])
def test_shapes_stay_readable(shape):
    figure = plot_attention(np.ones(shape, np.float32), title="$x_")
    figure.savefig(io.BytesIO(), format="png")
    for axes in panels(figure):
        box = axes.get_window_extent()
        assert min(box.width, box.height) > 0.6 * figure.dpi
        assert 1 / 4 < box.width / box.height < 4


def test_a_single_bright_spot_among_many(random):
    weights = np.zeros((2, 5000), np.float32)
    weights[1, 3333] = 1
    figure = plot_attention(weights)
    assert panels(figure)[0].images[0].get_array().max() == 1
    assert panels(figure)[0].get_xlim() == (-0.5, 4999.5)


def test_labels_are_texts_not_formulas(attention):
    queries, keys = ["$a", "$x_{$", "\\", "x_$1\\$"], ["a long word with spaces", "$\\frac$", *"abcd"]
    figure = plot_attention(attention, queries, keys, title="$5 {_ and $6", query_name="$_$", key_name="$x_{$")
    figure.savefig(io.BytesIO())
    left, bottom = panels(figure)[0], panels(figure)[-1]
    texts = [*left.get_yticklabels(), *bottom.get_xticklabels(), left.yaxis.label, bottom.xaxis.label, figure._suptitle]
    assert [text.get_text() for text in texts] == [*queries, *keys, "$_$", "$x_{$", "$5 {_ and $6"]
    assert not any(text.get_parse_math() for text in texts)


def test_a_figure_of_ones_own(attention):
    from matplotlib.figure import Figure
    own = Figure(figsize=(4, 3))
    assert plot_attention(attention, figure=own) is own and len(panels(own)) == 3
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize("options, error", [
    (dict(query_labels=list("abc")), attnzoo.ShapeError),
    (dict(key_labels=list("abc")), attnzoo.ShapeError),
    (dict(heads=[3]), ValueError),
    (dict(heads=[]), ValueError),
    (dict(batch=2), ValueError),
    (dict(columns=0), ValueError),
    (dict(columns=1.5), ValueError),
    (dict(batch=-1), ValueError),
    (dict(batch=True), ValueError),
    (dict(heads=[-1]), ValueError),
    (dict(heads=[True]), ValueError),
    (dict(heads=[1.0]), ValueError),
    (dict(heads="01"), ValueError),
    (dict(heads=1), ValueError),
    (dict(maximum=-1), ValueError),
    (dict(maximum=0), ValueError),
    (dict(maximum=np.nan), ValueError),
    (dict(maximum=np.inf), ValueError),
    (dict(maximum="a"), ValueError),
])
def test_what_does_not_fit(attention, options, error):
    with pytest.raises(error) as caught:
        plot_attention(attention, **options)
    assert isinstance(caught.value, attnzoo.Error)


def test_a_batch_of_one_without_its_axis(attention):
    plot_attention(attention[0], batch=0, heads=np.array([1, 0]))
    with pytest.raises(attnzoo.InvalidArgumentError, match="batch is 1"):
        plot_attention(attention[0], batch=1)


@pytest.mark.parametrize("shape", [(3,), (1,) * 5, (0, 3), (3, 0), (0, 2, 2)])
def test_shapes_that_are_no_attention(shape):
    with pytest.raises(attnzoo.ShapeError):
        plot_attention(np.zeros(shape, np.float32))
