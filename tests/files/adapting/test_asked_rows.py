"""The rows of a file that are worth labelling: a sample whose probabilities make sums unbiased, in bounded memory."""

import numpy as np
import pytest

from baserate.adapters.regress_and_reweight import LabelWorth
from baserate.files.adapting import asked_rows
from baserate.files.adapting.asked_rows import AskedRows

SIZES = [7, 1, 40, 13, 100, 39]


def stream(rng):
    """Rounds of ids, labels and worth."""
    row = 0
    for size in SIZES:
        ids = [f"id-{i}" for i in range(row, row + size)]
        yield ids, None, LabelWorth(rng.gamma(0.7, 1.0, size) + 0.3, [f"why {i}" for i in range(row, row + size)])
        row += size


def taken(most, rounds):
    asked, row = AskedRows.none_yet(most), 0
    for number, (ids, labels, found) in enumerate(rounds, 1):
        asked = asked.plus(ids, labels, found, row=row, number=number)
        row += len(ids)
        assert len(asked.rows) <= most + 1
    return asked


@pytest.mark.parametrize("most", [1, 5, 60, 199, 200, 500])
def test_the_rows_with_the_highest_priorities_are_asked_for(most):
    """As a naive transcription finds them that has the whole file."""
    rounds = list(stream(np.random.default_rng(0)))
    uniforms = [np.random.default_rng([asked_rows._SEED, i]).random(n) for i, n in enumerate(SIZES, 1)]
    worth = np.concatenate([found.worth for *_, found in rounds])
    priorities = worth / (1.0 - np.concatenate(uniforms))
    order = np.argsort(-priorities)
    asked, probabilities = taken(most, rounds).chosen()
    expected = np.sort(order[:most])
    np.testing.assert_array_equal(asked.rows, expected)
    assert asked.ids == [f"id-{i}" for i in expected]
    assert asked.reasons == [f"why {i}" for i in expected]
    limit = priorities[order[most]] if most < 200 else 0.0
    np.testing.assert_allclose(probabilities, [1.0 if limit == 0.0 else min(1.0, worth[i] / limit) for i in expected])


def test_sums_over_requests_are_unbiased(monkeypatch):
    """Sums of labels, which go with the worth, divided by the probabilities, over 400 draws."""
    rounds = list(stream(np.random.default_rng(1)))
    worth = np.concatenate([found.worth for *_, found in rounds])
    values = worth + np.random.default_rng(2).random(200)
    sums, sizes = [], []
    for seed in range(400):
        monkeypatch.setattr(asked_rows, "_SEED", seed)
        asked, probabilities = taken(20, rounds).chosen()
        sums.append((values[asked.rows] / probabilities).sum())
        sizes.append((1.0 / probabilities).sum())
    for found, truth in ((sums, values.sum()), (sizes, 200.0)):
        assert abs(np.mean(found) - truth) < 3.0 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_rows_with_a_label_are_not_asked_for():
    rounds = [
        (ids, np.where(np.arange(len(ids)) % 2, 0, -1), found) for ids, _, found in stream(np.random.default_rng(3))
    ]
    labelled = np.concatenate([labels for _, labels, _ in rounds]) == 0
    assert not labelled[taken(500, rounds).rows].any()


def test_the_table_has_empty_labels_and_counts_rows_from_one():
    table = taken(3, stream(np.random.default_rng(4))).table("name", "truth")
    assert table.columns == ["name", "row", "probability", "why", "truth"]
    assert table["name"].to_list() == [f"id-{i - 1}" for i in table["row"]]
    assert table["truth"].null_count() == 3
    assert AskedRows.none_yet(3).table("id", "label").is_empty()
