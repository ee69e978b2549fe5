"""Natural mistakes of those who call baserate from Python: the error says what is wrong, and what to give instead."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import baserate
from baserate.trust import HoldoutWarning

RNG = np.random.default_rng(0)
Y = np.arange(400) % 4 == 0
SCORE = 1 / (1 + np.exp(-(2.2 * (RNG.normal(size=400) + 2.2 * Y) - 3.5)))
PROBA = np.column_stack([1 - SCORE, SCORE])
NAMES = np.where(Y, "fraud", "ok")
FRAME = pd.DataFrame(PROBA, columns=["ok", "fraud"])


def fit(proba, y):
    return baserate.RegressAndReweight().fit(proba, y)


MISTAKES = {
    "the label is in the frame": (lambda: fit(FRAME.assign(label=NAMES), NAMES), ["'label' are no labels in y"]),
    "an id is in the frame": (lambda: fit(FRAME.assign(id=range(400)), NAMES), ["'id' are no labels in y", "leave"]),
    "capitals": (lambda: fit(FRAME[["fraud", "ok"]].rename(columns=str.title), NAMES), ["'Fraud', 'Ok'", "capitals"]),
    "columns swapped": (lambda: fit(PROBA[:, ::-1], Y.astype(int)), ["worse than chance", "model.classes_"]),
    "another frame later": (
        lambda: fit(FRAME, NAMES).step(FRAME.rename(columns={"ok": "good"})),
        ["lacks 'ok'", "frame[adapter.columns_]"],
    ),
    "a lazy frame": (lambda: fit(pl.LazyFrame({"ok": 1 - SCORE, "fraud": SCORE}), NAMES), ["lazy frame", ".collect()"]),
    "arguments swapped": (lambda: fit(NAMES, PROBA), ["proba has dtype", "numbers"]),
    "decisions": (lambda: fit(Y.astype(int), Y.astype(int)), ["like predicted classes", "predict_proba(X)[:, 1]"]),
    "logits": (lambda: fit(np.log(SCORE / (1 - SCORE)), Y), ["logits", "1 / (1 + np.exp(-scores))"]),
    "logarithms": (lambda: fit(np.log(PROBA), Y), ["negative value", "softmax"]),
    "percentages": (lambda: fit(100 * PROBA, Y), ["sums to 100", "Divide percentages by 100"]),
    "labels in a column": (lambda: fit(PROBA, Y.astype(int)[:, None]), ["y has shape (400, 1)", "one dimension"]),
    "labels one-hot": (lambda: fit(PROBA, np.eye(2)[Y.astype(int)]), ["one label per sample"]),
    "labels from 1": (lambda: fit(PROBA, Y + 1), ["unknown label 2", "y - 1"]),
    "labels -1 and 1": (lambda: fit(PROBA, np.where(Y, 1, -1)), ["unknown label -1", "give y > 0"]),
    "no fit": (lambda: baserate.RegressAndReweight().step(PROBA), ["call fit on the holdout first"]),
    "one class": (lambda: fit(PROBA[~Y], Y[~Y]), ["no sample of class True", "Add samples"]),
    "one row": (lambda: fit(FRAME, NAMES).step(PROBA[0]), ["one number for each row", "give both"]),
    "a prior as a dict": (
        lambda: baserate.reweight(PROBA, {"ok": 0.5, "fraud": 0.5}, 0.01),
        ["source_prior is a dict", "source_prior[c] for c in classes"],
    ),
    "a prior as counts": (lambda: baserate.reweight(PROBA, [300, 100], 0.01), ["sums to 400", "Divide counts"]),
    "a prior in percent": (lambda: baserate.reweight(PROBA, [50, 50], 0.01), ["Divide percentages by 100"]),
    "costs as a number": (lambda: baserate.decide(PROBA, 20), ["costs is 20", "[[0, 1], [20, 0]]"]),
    "costs as on the command line": (lambda: baserate.decide(PROBA, "1:20"), ["costs is '1:20'", "[[0, 1], [20, 0]]"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_give(mistake):
    call, words = MISTAKES[mistake]
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_labels_of_other_rows():
    with pytest.warns(HoldoutWarning) as told:
        fit(FRAME, np.random.default_rng(1).permutation(NAMES))
    assert any("labels and probabilities may not be those of the same rows" in str(each.message) for each in told)


@pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")
def test_a_frame_in_another_order_is_put_in_order():
    adapter = fit(FRAME, NAMES)
    np.testing.assert_array_equal(adapter.predict_proba(FRAME[["fraud", "ok"]]), adapter.predict_proba(FRAME))
