"""A transformer that is trained with its head, tiny and of random weights: it learns, and resumes bit for bit."""

import numpy as np
import pytest
from scipy.special import softmax

from baserate.integrations import last_layer
from baserate_lab.models import tuned_transformer

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from .tiny_encoder import make_encoder  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
TEXTS = np.array(
    [" ".join([["red", "green", "blue"][y], *RNG.choice(["and", "the"], i % 5)]) for i, y in enumerate(Y)], dtype=object
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("encoder"), 0)


def tuned(encoder, **parameters):
    return tuned_transformer.TunedTransformer(
        encoder, **{"max_tokens": 8, "epochs": 2, "batch_size": 8, "step_size": 3e-3, **parameters}
    )


class Stop:
    """Interrupts after some batches, as Ctrl-C would."""

    def __init__(self, after):
        self.after, self.moments = after, []

    def __call__(self, moment):
        self.moments.append(moment)
        if len(self.moments) == self.after:
            raise KeyboardInterrupt


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.features(TEXTS), other.features(TEXTS))


def test_it_learns_the_encoder_too_and_its_last_layer_gives_its_probabilities(encoder):
    model = tuned(encoder, epochs=4).fit(TEXTS, Y)
    proba = model.predict_proba(TEXTS)
    assert (proba.argmax(axis=1) == Y).mean() > 0.95
    layer = last_layer(model)
    rebuilt = softmax(layer.features(TEXTS) @ layer.coef.T + layer.intercept, axis=1)
    np.testing.assert_allclose(rebuilt, proba, atol=1e-6)
    untrained = tuned(encoder, step_size=0.0).fit(TEXTS, Y)
    assert not untrained.coef_.any()
    assert np.abs(model.features(TEXTS) - untrained.features(TEXTS)).max() > 0.01


@pytest.mark.parametrize("after", [3, 5, 12, 15])
def test_interrupted_and_resumed_is_bit_identical(encoder, tmp_path, monkeypatch, after):
    """Twelve batches an epoch and a checkpoint every five: stopped before, at and after one, and between epochs."""
    monkeypatch.setattr(tuned_transformer, "_BETWEEN_CHECKPOINTS", 5)
    whole = Stop(0)
    model = tuned(encoder).fit(TEXTS, Y, watch=whole)
    with pytest.raises(KeyboardInterrupt):
        tuned(encoder).fit(TEXTS, Y, checkpoint=tmp_path / "run", watch=Stop(after))
    rest = Stop(0)
    resumed = tuned(encoder).fit(TEXTS, Y, checkpoint=tmp_path / "run", watch=rest)
    same(resumed, model)
    assert rest.moments == whole.moments[after - after % 5 :]
    none = Stop(1)
    same(tuned(encoder).fit(TEXTS, Y, checkpoint=tmp_path / "run", watch=none), model)
    assert none.moments == []


def test_every_text_is_seen_once_an_epoch_in_another_order():
    lengths = RNG.integers(1, 9, 1000)
    one, two = (tuned_transformer._batches(lengths, 8, np.random.default_rng([0, epoch])) for epoch in (0, 1))
    for batches in (one, two):
        assert sorted(np.concatenate(batches)) == list(range(1000))
        assert np.mean([np.ptp(lengths[rows]) for rows in batches]) < 1  # of similar length
    assert not np.array_equal(np.concatenate(one), np.concatenate(two))


def test_the_step_size_rises_and_falls():
    shares = [tuned_transformer._share(done) for done in (0.0, 0.03, 0.06, 0.53, 1.0)]
    assert 0 < shares[0] < shares[1] < shares[2] == 1.0
    np.testing.assert_allclose(shares[3:], [0.5, 0.0])


def test_a_checkpoint_of_another_run_and_a_damaged_one_are_refused(encoder, tmp_path):
    tuned(encoder).fit(TEXTS, Y, checkpoint=tmp_path / "run")
    for changed, labels in ((tuned(encoder, rng=1), Y), (tuned(encoder), Y[::-1].copy())):
        with pytest.raises(ValueError, match="belongs to a training with other data"):
            changed.fit(TEXTS, labels, checkpoint=tmp_path / "run")
    (tmp_path / "run").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        tuned(encoder).fit(TEXTS, Y, checkpoint=tmp_path / "run")


def test_bad_input(encoder):
    with pytest.raises(FloatingPointError, match="make step_size smaller"):
        tuned(encoder, step_size=1e30).fit(TEXTS, Y)
    with pytest.raises(ValueError, match="not fitted"):
        tuned(encoder).predict_proba(TEXTS)
    with pytest.raises(TypeError, match="single text"):
        tuned(encoder, epochs=1).fit(TEXTS, Y).predict_proba("red")
    with pytest.raises(ValueError, match="epochs is 0"):
        tuned(encoder, epochs=0).fit(TEXTS, Y)
