"""ResNet18: its shape, its training loop against a plain one, and a training that can be stopped anywhere."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import softmax

from baserate.integrations import last_layer
from baserate.state import dumps, loads
from baserate_lab.models import ResNet18, resnet18
from baserate_lab.models.resnet18 import Until

torch = pytest.importorskip("torch")
from baserate_lab.models import _resnet_network, _resnet_training  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = RNG.integers(0, 100, (40, 8, 8, 3), dtype=np.uint8)
X[Y == 1, :, :4] += 120  # class 1 is bright on its left


def tiny(**parameters):
    return ResNet18(**{"width": 4, "epochs": 3, "batch_size": 16, "rng": 0, **parameters})


def test_the_network_is_a_resnet18():
    """Known counts of parameters: 11,173,962 for CIFAR-10, and 18 layers with weights beside the shortcuts."""
    network = _resnet_network.start(3, 10, 64, 0)
    assert sum(p.numel() for p in network.parameters()) == 11_173_962
    layers = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    assert sum(getattr(m, "kernel_size", (3, 3)) == (3, 3) for m in layers) == 18
    seen = []
    network.stages.register_forward_hook(lambda _, inputs, output: seen.append((inputs[0].shape, output.shape)))
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert seen == [((2, 64, 32, 32), (2, 512, 4, 4))]  # nothing is pooled before the stages


def test_starting_weights_follow_the_seed_and_leave_torch_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two, other = (_resnet_network.start(3, 2, 4, seed).head.weight for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.2, 0.2, 0.2, 0.2]),
        ("drop", [0.2, 0.2, 0.2, 0.02]),
        ("cosine", [0.2, 0.2 * (1 + np.cos(np.pi / 8)) / 2, 0.1, 0.0]),
        ("one-cycle", [0.0, 0.1, 0.2 * (1 + np.cos(np.pi / 3)) / 2, 0.0]),
    ],
)
def test_schedules(schedule, expected):
    """At the start, an eighth, the half and the end."""
    plan = _resnet_training.Plan(4, 1, 0.2, 0.9, True, 0.0, 16, schedule, False, 0)
    found = [_resnet_training.step_size_at(plan, done) for done in (0, 1 / 8, 1 / 2, 1)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_moved_images_are_shifted_and_mirrored():
    """An image of distinct pixels: each result is a window of the padded image, or its mirror image."""
    image = np.arange(1, 65, dtype=np.uint8).reshape(1, 8, 8, 1)
    results = _resnet_training.moved(np.repeat(image, 400, axis=0), np.random.default_rng(0))
    padded = np.pad(image[0, :, :, 0], 4)
    windows = {padded[i : i + 8, j : j + 8].tobytes(): (i, j, 0) for i in range(9) for j in range(9)}
    windows |= {padded[i : i + 8, j : j + 8][:, ::-1].tobytes(): (i, j, 1) for i in range(9) for j in range(9)}
    found = [windows[result[:, :, 0].tobytes()] for result in results]
    assert {i for i, _, _ in found} == {j for _, j, _ in found} == set(range(9))
    assert 0.4 < np.mean([mirrored for _, _, mirrored in found]) < 0.6


def test_two_batches_are_what_torch_does_with_them():
    """The loop against a plain transcription: order, step sizes, momentum, decay, batch statistics."""
    model = tiny(epochs=1, batch_size=20, augment=False, schedule="cosine", l2=0.01).fit(X, Y)
    seed = int(np.random.default_rng(0).integers(2**62))
    network = _resnet_network.start(3, 2, 4, seed)
    network.mean[0, :, 0, 0] = torch.tensor(X.mean(axis=(0, 1, 2)))
    network.std[0, :, 0, 0] = torch.tensor(X.std(axis=(0, 1, 2)))
    order = np.random.default_rng([seed, 0]).permutation(40)
    velocity = [torch.zeros_like(p) for p in network.parameters()]
    for step, rows in enumerate((order[:20], order[20:])):
        images = torch.tensor(X[rows], dtype=torch.float32).permute(0, 3, 1, 2)
        loss = torch.nn.functional.cross_entropy(network(images), torch.tensor(Y[rows]))
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        size = 0.1 * (1 + np.cos(np.pi * (step + 1) / 2)) / 2
        with torch.no_grad():
            for parameter, gradient, v in zip(network.parameters(), gradients, velocity, strict=True):
                g = gradient + 0.01 * parameter
                v.mul_(0.9).add_(g)
                parameter -= size * (g + 0.9 * v)
    for name, weight in network.state_dict().items():
        np.testing.assert_allclose(model.weights_[name], weight, rtol=1e-3, atol=1e-5, err_msg=name)


def test_epochs_differ_in_the_order_of_images_and_in_their_moves(monkeypatch):
    batches, plain = [], _resnet_training.to_tensor

    def seen(images):
        batches.append(images.tobytes())
        return plain(images)

    monkeypatch.setattr(_resnet_training, "to_tensor", seen)
    tiny(augment=False).fit(X, Y)
    assert len(batches) == len(set(batches)) == 9
    batches.clear()
    tiny(augment=True, batch_size=40).fit(np.repeat(X[:1], 40, axis=0), Y)  # the order makes no difference
    assert len(batches) == len(set(batches)) == 3


def test_mean_and_deviation_over_more_images_than_at_once(monkeypatch):
    monkeypatch.setattr(_resnet_training, "_AT_ONCE", 7)
    mean, std = _resnet_training.mean_and_std(X)
    np.testing.assert_allclose(mean, X.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, X.std(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_array_equal(_resnet_training.mean_and_std(np.ones((3, 2, 2, 1), np.uint8))[1], [1e-6])


def test_more_images_than_go_through_at_once(monkeypatch):
    model = tiny(epochs=1).fit(X, Y)
    whole, features = model.predict_proba(X), model.features(X)
    monkeypatch.setattr(resnet18, "_AT_ONCE", 16)
    np.testing.assert_allclose(model.predict_proba(X), whole, atol=1e-6)
    np.testing.assert_allclose(model.features(X), features, rtol=1e-4, atol=1e-6)


def test_it_learns():
    model = tiny(epochs=8).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == Y).mean() > 0.9
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]


def test_in_bfloat16_it_learns_as_well_with_float32_weights():
    model, single = tiny(epochs=8, precision="bfloat16").fit(X, Y), tiny(epochs=8).fit(X, Y)
    assert all(weight.dtype in (np.float32, np.int64) for weight in model.weights_.values())
    assert not np.array_equal(model.weights_["head.weight"], single.weights_["head.weight"])
    np.testing.assert_allclose(model.history_[0]["loss"], single.history_[0]["loss"], rtol=0.1)
    assert (model.predict_proba(X).argmax(axis=1) == Y).mean() > 0.9
    # Only the training is in bfloat16: what it predicts has more than the eight bits of one.
    logits = model.decision_function(X).astype(np.float32)
    assert (logits.view(np.uint32) & 0xFFFF).any()


@pytest.mark.parametrize("images", [X, X[..., 0], X / 255.0], ids=["colour", "grey", "real numbers"])
def test_features_and_last_layer_give_its_probabilities(images):
    model = tiny(epochs=1).fit(images, Y)
    layer = last_layer(model)
    assert layer.features(images).shape == (40, 32)
    rebuilt = softmax(layer.features(images) @ layer.coef.T + layer.intercept, axis=1)
    np.testing.assert_allclose(rebuilt, model.predict_proba(images), atol=1e-6)


class Stop:
    """Interrupts after some batches, as Ctrl-C would."""

    def __init__(self, after):
        self.after, self.moments = after, []

    def __call__(self, moment):
        self.moments.append(moment)
        if len(self.moments) == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("after", [2, 5, 6])
def test_interrupted_and_resumed_is_bit_identical(tmp_path, after, precision):
    """Three batches an epoch: stopped in the first and the second epoch, and at the end of the second."""
    whole = tiny(precision=precision).fit(X, Y)
    model = tiny(precision=precision)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, checkpoint=tmp_path / "run", watch=Stop(after))
    assert not hasattr(model, "weights_")
    assert (tmp_path / "run").exists() == (after > 3)
    rest = Stop(99)
    model.fit(X, Y, checkpoint=tmp_path / "run", watch=rest)
    assert rest.moments[0][:2] == ((1 if after == 2 else 2), 3)
    assert model.history_ == whole.history_
    assert dumps(model) == dumps(whole)


def test_a_finished_training_is_read_not_repeated(tmp_path):
    whole = tiny().fit(X, Y, checkpoint=tmp_path / "run")
    watcher = Stop(1)
    assert dumps(tiny().fit(X, Y, checkpoint=tmp_path / "run", watch=watcher)) == dumps(whole)
    assert watcher.moments == []


def errors_by_epoch(epochs=6):
    """With a constant rate, a shorter training is the beginning of a longer one."""
    return [
        float((tiny(schedule="constant", epochs=n).fit(X, Y).predict_proba(X).argmax(axis=1) != Y).mean())
        for n in range(1, epochs + 1)
    ]


def test_training_stops_after_the_first_epoch_whose_error_is_in_the_range(tmp_path):
    errors = errors_by_epoch()
    wanted = errors[2]
    first = errors.index(wanted) + 1
    until = Until(X, Y, wanted, wanted)
    whole = tiny(schedule="constant", epochs=first).fit(X, Y)
    model = tiny(schedule="constant", epochs=6).fit(X, Y, until=until, checkpoint=tmp_path / "run")
    assert len(model.history_) == first
    for name, weight in whole.weights_.items():
        np.testing.assert_array_equal(model.weights_[name], weight)
    # Read again, it is as done as before; without the rule it goes on.
    again = tiny(schedule="constant", epochs=6).fit(X, Y, until=until, checkpoint=tmp_path / "run", watch=Stop(1))
    assert again.history_ == model.history_
    never = Until(X, Y, 2.0, 3.0)
    assert len(tiny(schedule="constant", epochs=6).fit(X, Y, until=never).history_) == 6


@pytest.mark.parametrize("change", ["data", "labels", "parameter", "precision", "seed"])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change):
    tiny(epochs=1).fit(X, Y, checkpoint=tmp_path / "run")
    model = tiny(epochs=2 if change == "parameter" else 1, rng=1 if change == "seed" else 0)
    if change == "precision":
        model.set_params(precision="bfloat16")
    data, labels = (255 - X if change == "data" else X), (1 - Y if change == "labels" else Y)
    with pytest.raises(ValueError, match="belongs to a training with other data"):
        model.fit(data, labels, checkpoint=tmp_path / "run")


def test_a_damaged_checkpoint_is_said_to_be_so(tmp_path):
    (tmp_path / "run").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        tiny().fit(X, Y, checkpoint=tmp_path / "run")


class Hostile:
    """Would make a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_no_code_in_a_checkpoint_is_run(tmp_path):
    torch.save({"run": Hostile(tmp_path / "victim")}, tmp_path / "run")
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        tiny().fit(X, Y, checkpoint=tmp_path / "run")
    assert not (tmp_path / "victim").exists()


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    model = tiny().fit(X, Y, checkpoint=tmp_path / "file" / "run")
    assert len(model.history_) == 3
    assert "run could not be written" in capsys.readouterr().err


def test_without_momentum_nesterov_is_plain_descent():
    assert dumps(tiny(momentum=0, nesterov=False).fit(X, Y).set_params(nesterov=True)) == dumps(
        tiny(momentum=0, nesterov=True).fit(X, Y)
    )


def test_a_training_that_diverges_says_so_and_keeps_nothing(tmp_path):
    with pytest.raises(FloatingPointError, match="make step_size smaller"):
        tiny(step_size=1e30, schedule="constant").fit(X, Y, checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_declared_weights_are_those_of_the_network():
    for width in (1, 3):
        weights = _resnet_network.start(2, 5, width, seed=0).state_dict()
        declared = resnet18._layers(width)
        assert set(declared) == set(weights)
        named = {"k": 5, "channels": 2}
        for name, weight in weights.items():
            assert tuple(named.get(size, size) for size in declared[name].shape) == tuple(weight.shape)


def test_it_is_saved_without_pickle():
    model = tiny(epochs=1).fit(X, Y)
    np.testing.assert_array_equal(loads(dumps(model)).predict_proba(X), model.predict_proba(X))


def test_bad_input():
    with pytest.raises(ValueError, match=r"expected images of numbers, of shape"):
        tiny().fit(X.reshape(40, -1), Y)
    with pytest.raises(ValueError, match="schedule is 'linear'; choose one of one-cycle"):
        tiny(schedule="linear").fit(X, Y)
    with pytest.raises(ValueError, match="precision is 'float16'; choose one of float32, bfloat16"):
        tiny(precision="float16").fit(X, Y)
    with pytest.raises(ValueError, match="needs at least 2"):
        tiny().fit(X[:1], Y[:1])
    with pytest.raises(TypeError, match="y has dtype <U1; expected class indices"):
        tiny().fit(X, np.array(["a", "b"] * 20))
    with pytest.raises(ValueError, match="y is empty"):
        tiny().fit(X[:0], [])
    with pytest.raises(ValueError, match="40 labels; expected 39"):
        tiny().fit(X[:39], Y)
    with pytest.raises(ValueError, match="unknown label -1"):
        tiny().fit(X, Y - 1)
    holes = X.astype(np.float32)
    holes[3, 2, 1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or an infinity in sample 3"):
        tiny().fit(holes, Y)
    with pytest.raises(ValueError, match="rng is None, so no checkpoint"):
        tiny(rng=None).fit(X, Y, checkpoint="run")
    with pytest.raises(ValueError, match="not fitted"):
        tiny().predict_proba(X)
    with pytest.raises(ValueError, match=r"images of 1 channel\(s\); this model was trained on 3"):
        tiny(epochs=1).fit(X, Y).predict_proba(X[..., 0])


def test_without_torch_the_error_says_what_to_install():
    script = (
        "import sys, numpy as np\n"
        "class Without:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch':\n            raise ModuleNotFoundError('no torch', name='torch')\n"
        "sys.meta_path.insert(0, Without())\n"
        "import baserate_lab.models\n"
        "try:\n    baserate_lab.models.ResNet18().fit(np.zeros((4, 8, 8)), [0, 1, 0, 1])\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'baserate-lab[deep]'" in done.stdout
