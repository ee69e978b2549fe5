"""Online Feature Updates on CIFAR-10: who is given what, on a made-up data set and a network that is no network."""

import numpy as np
import pytest

from baserate.datasets import Dataset
from baserate_lab.models import Outputs
from baserate_lab.models._split import split
from baserate_lab.paper import feature_updates_on_cifar10 as experiment

torch = pytest.importorskip("torch")
K = 10


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(K, K)
        self.scale = torch.nn.Parameter(torch.ones(1))
        with torch.no_grad():
            self.head.weight.copy_(2.5 * torch.eye(K))
            self.head.bias.zero_()

    def features(self, x):
        return self.scale * x


class Model:
    def _network(self):
        return Plain().eval()


@pytest.fixture
def made_up(monkeypatch):
    rng = np.random.default_rng(0)

    def drawn(n):
        y = rng.permutation(np.arange(n) % K)
        return (np.eye(K)[y] + 0.35 * rng.normal(size=(n, K))).astype(np.float32), y

    source, target = drawn(2000), drawn(600)
    data = Dataset(*source, *target, tuple("abcdefghij"), "made up")
    _, held = split(data.source_y, 0)
    logits = [2.5 * X for X in (data.source_X[held], data.target_X)]
    said = Outputs(logits[0], data.source_y[held], logits[1], data.target_y, data.class_names, "", 0.9, False, None)
    asked = []
    monkeypatch.setattr(experiment, "load", lambda name: data)
    monkeypatch.setattr(experiment, "train", lambda *names, seed, progress: asked.append((names, seed)) or Model())
    monkeypatch.setattr(experiment, "outputs", lambda *names, seed, progress: said)
    return asked


SMALL = experiment.Settings(n_rounds=20, every=50, n_train=100, n_holdout=100)


def test_all_methods_see_one_stream_and_the_network_of_the_tables(made_up):
    found = experiment.run("sin", 0, ["entropy"], SMALL)
    assert list(found) == [experiment.WITHOUT, experiment.ONCE, "entropy"]
    assert made_up == [(("cifar10", experiment.CIFAR10.model), experiment.CIFAR10.network(0))]
    assert all(0 <= outcome.error < 40 for outcome in found.values())
    again = experiment.run("sin", 0, ["entropy"], SMALL)
    assert {name: o.error for name, o in again.items()} == {name: o.error for name, o in found.items()}
    # Without a step and before the first update it is the adapter on the outputs.
    late = experiment.run("sin", 0, ["entropy"], SMALL._replace(every=10_000))
    assert late["entropy"].error == late[experiment.WITHOUT].error == found[experiment.WITHOUT].error


def test_gains_are_over_the_same_streams_without_updates(capsys, monkeypatch):
    outcomes = {
        ("sin", seed): {
            experiment.WITHOUT: experiment.Outcome(10.0 + seed, 1.0),
            "entropy": experiment.Outcome(9.0 + 2 * seed, 5.0),
        }
        for seed in range(3)
    }
    outcomes |= {("ber", seed): outcomes["sin", seed] for seed in range(3)}
    monkeypatch.setattr(experiment, "run", lambda shift, seed, losses, settings: outcomes[shift, seed])
    experiment.main(["--losses", "entropy"])
    text = capsys.readouterr().out
    # Gains of 1, 0 and -1: mean 0, standard error 1 / sqrt(3).
    assert text.count("+0.00") == 2
    assert text.count("1.15") == 2
    assert text.count("4.59") == 1  # printed under Sin only
