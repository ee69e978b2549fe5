"""Torch modules are taken apart at their last linear layer, or refused."""

import numpy as np
import pytest
from scipy.special import softmax

from baserate.integrations import last_layer
from baserate.integrations.linear_head import NoLastLayerError

torch = pytest.importorskip("torch")
from baserate.integrations.torch_modules import _why_not  # noqa: E402

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


class Made(nn.Module):
    """A body, a head, and a way to use them."""

    def __init__(self, use, outputs=3):
        super().__init__()
        self.body = nn.Linear(6, 5)
        self.head = nn.Linear(5, outputs)
        self.drop, self.relu, self.loss = (
            nn.Dropout(0.5),
            nn.ReLU(),
            nn.CrossEntropyLoss(),
        )  # after the head, as most do
        self.use = use

    def forward(self, x):
        return self.use(self, self.relu(self.body(x)))


def halved(module, x):
    out = module.head(x)
    out.div_(2)
    return out


def cleared(module, x):
    out = module.head(x)
    x.zero_()
    return out


ACCEPTED = {
    "parts named after the head": lambda m, x: m.head(m.drop(x)),
    "named argument": lambda m, x: m.head(input=x),
    "features changed in place": cleared,
    "identity and dropout behind the layer": lambda m, x: m.drop(nn.Identity()(m.head(x))),
    "a copy": lambda m, x: m.head(x).clone(),
    "used twice": lambda m, x: (m.head(x + 1), m.head(x))[1],
}


@pytest.mark.parametrize("use", ACCEPTED)
def test_what_counts_is_the_value_of_the_output(use):
    module = Made(ACCEPTED[use])
    np.testing.assert_allclose(rebuilt(module, X), proba(module, X), atol=1e-6)


def test_a_single_output_may_be_squeezed():
    module = Made(lambda m, x: m.head(x).squeeze(1), outputs=1)
    with torch.no_grad():
        expected = torch.sigmoid(module.eval()(torch.as_tensor(X, dtype=torch.float32))).numpy()
    np.testing.assert_allclose(rebuilt(module, X)[:, 1], expected, atol=1e-6)


REFUSED = {
    "logits changed in place": halved,
    "softmax": lambda m, x: torch.softmax(m.head(x), dim=1),
    "slightly warmer": lambda m, x: m.head(x) / 1.001,
    "the layer is not used": lambda m, x: x[:, :3],
    "some rows only": lambda m, x: m.head(x)[:1],
    "rows of its own": lambda m, x: m.head(x[:1]),
    "several outputs": lambda m, x: (m.head(x), x),
    "classes": lambda m, x: m.head(x).argmax(dim=1),
}


@pytest.mark.parametrize("use", REFUSED)
def test_another_output_is_refused(use):
    layer = last_layer(Made(REFUSED[use]))
    with pytest.raises(NoLastLayerError, match=r"Made cannot be taken: its output is.*RegressAndReweight or ROGD"):
        layer.features(X)
    with pytest.raises(NoLastLayerError, match="none of its linear layers"):
        last_layer(Made(REFUSED[use]), X[:2])


@pytest.mark.parametrize("end", [nn.Softmax(dim=1), nn.Sequential(nn.Softmax(dim=1))])
def test_a_softmax_at_the_end_is_refused(end):
    module = nn.Sequential(nn.Linear(6, 3), end)
    with pytest.raises(NoLastLayerError, match="without a softmax"):
        last_layer(module).features(X)
    with pytest.raises(NoLastLayerError, match=r"it has no nn\.Linear"):
        last_layer(end)


class OutOfOrder(nn.Module):
    """Uses its parts in another order than it names them."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(5, 3)
        self.body = nn.Linear(6, 5)
        self.unused = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.body(x))


def test_samples_find_the_layer_whatever_the_order_of_names():
    module = OutOfOrder()
    layer = last_layer(module, X[:4])
    np.testing.assert_array_equal(layer.coef, module.head.weight.detach().double())
    found = softmax(layer.features(X) @ layer.coef.T + layer.intercept, axis=1)
    np.testing.assert_allclose(found, proba(module, X), atol=1e-6)
    with pytest.raises(NoLastLayerError, match=r"not that of the nn.Linear that it names last.*last_layer\(module, s"):
        last_layer(module).features(X)
    with pytest.raises(ValueError, match="samples is empty"):
        last_layer(module, X[:0])


def test_a_module_of_double_precision_computes_in_it():
    module = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    with torch.no_grad():
        expected = torch.softmax(module(torch.as_tensor(X)), dim=1).numpy()
    np.testing.assert_allclose(rebuilt(module, X), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_within_its_rounding(dtype):
    """Computed in single precision, as not every processor can do it in half, and rounded."""
    layer = nn.Linear(300, 3).to(dtype)
    features = torch.randn(20, 300).to(dtype)
    with torch.no_grad():
        output = (features.float() @ layer.weight.float().T + layer.bias.float()).to(dtype)
        assert _why_not(layer, [features], output, 20) is None
        assert _why_not(layer, [features], 2 * output, 20) is not None


def test_wide_layers_of_large_features_are_not_refused_for_their_rounding():
    module = nn.Linear(4000, 3)
    wide = 1e4 * RNG.standard_normal((40, 4000))
    last_layer(module).features(wide)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neither_the_samples_nor_the_module_are_changed(dtype):
    module = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 3)).to(getattr(torch, np.dtype(dtype).name))
    samples = X.astype(dtype)
    layer = last_layer(module)
    layer.features(samples)
    layer.features(torch.from_numpy(samples))
    np.testing.assert_array_equal(samples, X.astype(dtype))
    samples.flags.writeable = False
    before = layer.features(samples)
    layer.coef[:], layer.intercept[:] = 0, 0
    assert module[1].weight.abs().min() > 0
    assert module[1].bias.abs().min() > 0
    np.testing.assert_array_equal(layer.features(samples), before)


def test_a_layer_on_sequences_is_refused():
    layer = last_layer(nn.Linear(6, 3))
    with pytest.raises(TypeError, match=r"used on shape \(2, 4, 6\)"):
        layer.features(RNG.standard_normal((2, 4, 6)))
