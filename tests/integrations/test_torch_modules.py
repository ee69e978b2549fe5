"""Torch modules are taken apart at their last linear layer, or refused."""

import numpy as np
import pytest
from scipy.special import softmax

from baserate.integrations import last_layer

torch = pytest.importorskip("torch")
nn = torch.nn
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 6))


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def proba(module, X):
    with torch.no_grad():
        return torch.softmax(module.eval()(torch.as_tensor(X, dtype=torch.float32)).double(), dim=1).numpy()


def rebuilt(module, X):
    layer = last_layer(module)
    features = layer.features(X)
    assert features.dtype == layer.coef.dtype == np.float64
    return softmax(features @ layer.coef.T + layer.intercept, axis=1)


MODULES = {
    "linear": lambda: nn.Linear(6, 3),
    "no bias": lambda: nn.Linear(6, 3, bias=False),
    "deep": lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4)),
    "dropout and batch statistics": lambda: nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2)
    ),
    "nested": lambda: nn.Sequential(nn.Sequential(nn.Linear(6, 5), nn.ReLU()), nn.Sequential(nn.Linear(5, 3))),
}


@pytest.mark.parametrize("name", MODULES)
def test_it_gives_the_probabilities_of_the_module(name):
    module = MODULES[name]()
    np.testing.assert_allclose(rebuilt(module, X), proba(module, X), atol=1e-6)
    np.testing.assert_allclose(rebuilt(module, torch.as_tensor(X)), proba(module, X), atol=1e-6)


def test_more_samples_than_go_through_at_once_and_none_at_all():
    module = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    many = RNG.standard_normal((1100, 2))
    np.testing.assert_allclose(rebuilt(module, many), proba(module, many), atol=1e-6)
    assert last_layer(module).features(many[:0]).shape == (0, 4)


def test_one_output_is_the_logit_of_the_second_class():
    module = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        expected = torch.sigmoid(module(torch.as_tensor(X, dtype=torch.float32)))[:, 0].numpy()
    np.testing.assert_allclose(rebuilt(module, X)[:, 1], expected, atol=1e-6)


def test_token_numbers_stay_whole():
    module = nn.Sequential(nn.EmbeddingBag(10, 4), nn.Linear(4, 3))
    tokens = RNG.integers(0, 10, (5, 7))
    with torch.no_grad():
        expected = torch.softmax(module(torch.as_tensor(tokens)), dim=1).numpy()
    np.testing.assert_allclose(rebuilt(module, tokens), expected, atol=1e-6)


def test_every_part_keeps_its_mode_and_no_hook_stays():
    module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    module.train()
    module[1].eval()
    last_layer(module).features(X)
    assert [part.training for part in module] == [True, False, True, True]
    assert not module[3]._forward_hooks


class Softmaxed(nn.Module):
    """Ends in a linear layer by the order of its parts, but not by what it computes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        return torch.softmax(self.layer(x), dim=1)


class OutOfOrder(nn.Module):
    """Uses its parts in another order than it names them."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 6)
        self.body = nn.Linear(6, 6)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.mark.parametrize("module", [Softmaxed, OutOfOrder])
def test_the_output_must_be_that_of_the_layer(module):
    layer = last_layer(module())
    with pytest.raises(TypeError, match=f"{module.__name__} cannot be taken: its output is not that"):
        layer.features(X)


@pytest.mark.parametrize("end", [nn.Softmax(dim=1), nn.ReLU(), nn.Conv1d(3, 3, 1)])
def test_another_last_part_is_refused(end):
    with pytest.raises(TypeError, match=f"last part is {type(end).__name__}.*RegressAndReweight or ROGD"):
        last_layer(nn.Sequential(nn.Linear(6, 3), end))


def test_a_layer_on_sequences_is_refused():
    layer = last_layer(nn.Linear(6, 3))
    with pytest.raises(TypeError, match=r"used on shape \(2, 4, 6\)"):
        layer.features(RNG.standard_normal((2, 4, 6)))
