"""The protocol of the experiments."""

import numpy as np
import pandas as pd
import pytest

from baserate.shifts import Constant, Monotone, Square, frequencies, replay_stream, sample_stream

RNG = np.random.default_rng(0)
Y = np.repeat(np.arange(3), [30, 40, 50])
P = 0.4 * np.eye(3)[Y] + 0.2


def test_labels_follow_the_path():
    stream = list(sample_stream(P, Y, Constant([0.7, 0.2, 0.1]), n_rounds=2000, batch_size=10, rng=0))
    share = frequencies(stream).mean(axis=0)
    assert np.abs(share - [0.7, 0.2, 0.1]).max() < 4 * 0.5 / np.sqrt(20_000)
    # Independent within a round: the count of class 0 is binomial.
    counts = np.array([(batch.y == 0).sum() for batch in stream])
    assert counts.var() == pytest.approx(10 * 0.7 * 0.3, rel=0.15)


def test_samples_are_drawn_without_replacement_within_a_round_and_with_across():
    stream = list(sample_stream(P, Y, Constant(), n_rounds=300, batch_size=20, rng=0))
    assert all(len(set(batch.rows)) == 20 for batch in stream)
    assert len({row for batch in stream for row in batch.rows}) == len(Y)  # far more draws than samples


def test_batches_hold_what_they_say():
    features = RNG.random((len(Y), 5))
    path = Square(length=2).path(6, 3)
    for t, batch in enumerate(sample_stream(P, Y, path, batch_size=4, features=features, rng=0)):
        assert batch.index == t
        np.testing.assert_array_equal(batch.proba, P[batch.rows])
        np.testing.assert_array_equal(batch.y, Y[batch.rows])
        np.testing.assert_array_equal(batch.features, features[batch.rows])
        np.testing.assert_array_equal(batch.q, path[t])
    assert t == 5
    assert next(sample_stream(P, Y, path, rng=0)).features is None


def test_the_seed_decides():
    streams = [list(sample_stream(P, Y, Monotone(), n_rounds=20, rng=seed)) for seed in (5, 5, 6)]
    rows = [np.concatenate([batch.rows for batch in stream]) for stream in streams]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert (rows[0] != rows[2]).any()


def test_without_replacement_over_the_run_ends_when_a_class_runs_out():
    with pytest.warns(UserWarning, match="run out of class 0 after"):
        stream = list(sample_stream(P, Y, Constant([0.8, 0.1, 0.1]), n_rounds=100, batch_size=5, exhaust=True, rng=0))
    rows = np.concatenate([batch.rows for batch in stream])
    assert len(set(rows)) == len(rows)
    assert 5 <= len(stream) <= 9  # 30 samples of class 0, four of five a round


def test_without_replacement_may_last_to_the_end():
    stream = list(sample_stream(P, Y, Constant(), n_rounds=10, batch_size=5, exhaust=True, rng=0))
    assert len(stream) == 10
    assert len({row for batch in stream for row in batch.rows}) == 50


def test_a_round_larger_than_the_pool_is_refused():
    with pytest.raises(ValueError, match="batch_size is 200"):
        list(sample_stream(P, Y, Constant([1.0, 0.0, 0.0]), n_rounds=1, batch_size=200, rng=0))


def test_a_class_that_the_path_never_asks_for_may_be_missing():
    two = Y != 2
    stream = list(sample_stream(P[two], Y[two], Constant([0.5, 0.5, 0.0]), n_rounds=3, rng=0))
    assert len(stream) == 3


def test_a_path_that_is_rounded_works():
    stream = list(sample_stream(P, Y, np.full((3, 3), 0.3331), batch_size=5, rng=0))
    assert len(stream) == 3


def test_an_array_is_cut_to_the_rounds_asked_for():
    path = Constant().path(5, 3)
    assert len(list(sample_stream(P, Y, path, n_rounds=2, rng=0))) == 2
    for bad in (0, -1, 2.5, 6):
        with pytest.raises((ValueError, TypeError), match="n_rounds"):
            sample_stream(P, Y, path, n_rounds=bad, rng=0)


def test_the_last_sample_of_a_class_may_be_drawn():
    alone = Constant([1.0, 0.0, 0.0])
    assert len(next(sample_stream(P, Y, alone, n_rounds=1, batch_size=30, rng=0)).rows) == 30
    assert len(list(sample_stream(P, Y, alone, n_rounds=3, batch_size=10, exhaust=True, rng=0))) == 3


def test_without_replacement_is_shuffled():
    orders = [
        np.concatenate([b.rows for b in sample_stream(P, Y, Constant([1.0, 0, 0]), n_rounds=3, exhaust=True, rng=seed)])
        for seed in (0, 1)
    ]
    assert set(orders[0]) == set(orders[1]) == set(range(30))
    assert (orders[0] != orders[1]).any()


def test_features_may_be_a_frame_or_a_list():
    frame = pd.DataFrame({"a": range(len(Y))}, index=range(500, 500 + len(Y)))
    for features in (frame, frame.to_numpy().tolist()):
        batch = next(sample_stream(P, Y, Constant(), n_rounds=1, features=features, rng=0))
        np.testing.assert_array_equal(batch.features[:, 0], batch.rows)


class WrongPath:
    def path(self, n_rounds, n_classes, rng=None):
        return np.full((n_rounds, n_classes), 0.5)


def test_the_path_of_a_shift_is_checked():
    with pytest.raises(ValueError, match=r"shift\.path row 0 sums to 1\.5"):
        sample_stream(P, Y, WrongPath(), n_rounds=3, rng=0)


def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="run out") as caught:
        list(sample_stream(P, Y, Constant([1.0, 0, 0]), n_rounds=9, exhaust=True, rng=0))
    assert caught[0].filename == __file__


def test_replayed_samples_keep_their_order():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=23)
    proba, features = rng.dirichlet(np.ones(3), size=23), rng.standard_normal((23, 4))
    stream = list(replay_stream(proba, y, batch_size=5, features=features))
    assert [len(batch.y) for batch in stream] == [5, 5, 5, 5, 3]
    assert [batch.index for batch in stream] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in stream]), np.arange(23))
    np.testing.assert_array_equal(np.concatenate([batch.proba for batch in stream]), proba)
    np.testing.assert_array_equal(np.concatenate([batch.features for batch in stream]), features)
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in stream]), y)
    np.testing.assert_array_equal([batch.q for batch in stream], frequencies(stream))


def test_a_replay_of_one_round_and_without_features():
    (only,) = replay_stream([[0.9, 0.1], [0.2, 0.8]], [0, 1], batch_size=2)
    assert only.features is None
    assert only.q.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"proba": np.empty((0, 2)), "y": []}, "proba is empty"),
        ({"y": [0]}, "y has 1"),
        ({"y": [0, 2]}, "unknown label 2"),
        ({"batch_size": 0}, "batch_size"),
        ({"features": np.ones((3, 1))}, "features has 3 rows"),
        ({"features": np.float64(3.0)}, "features has no rows"),
    ],
)
def test_bad_replays_are_refused_at_once(arguments, word):
    good = {"proba": [[0.9, 0.1], [0.2, 0.8]], "y": [0, 1]}
    with pytest.raises(ValueError, match=word):
        replay_stream(**{**good, **arguments})
