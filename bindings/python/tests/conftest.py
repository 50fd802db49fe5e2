"""What several tests share: numbers at random, weights for each mechanism, the folder of the repository."""
import pathlib

import numpy as np
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def random():
    return np.random.default_rng(20170612)


@pytest.fixture
def draw(random):
    """draw(2, 3) is a float32 array [2, 3] of normal numbers."""
    return lambda *shape: random.standard_normal(shape).astype(np.float32)


@pytest.fixture
def weights(draw):
    """weights(query_proj=(4, 8), ...) are parameters by name: `.weight` for two axes and more, unless the name has none."""
    def make(**shapes):
        made = {}
        for name, shape in shapes.items():
            if name.endswith(("_proj", "_conv")):
                made[f"{name}.weight"] = draw(*shape) * np.float32(np.prod(shape[1:])**-0.5)
                made[f"{name}.bias"] = draw(shape[0])
            else:
                made[name] = draw(*shape)
        return made
    return make


@pytest.fixture
def repository():
    if not (REPOSITORY / "examples" / "data").is_dir():
        pytest.skip("the tests are not in the repository, whose data this one needs")
    return REPOSITORY


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
