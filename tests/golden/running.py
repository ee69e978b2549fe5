"""The running objects whose states are kept here, and how they go on."""

from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator

from baserate import Bank, LabelShiftClassifier
from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, X, Y, batch_rows, move, output_of, prepare, role_of
from baserate.integrations.spark.bucket import Bucket, read_blob
from baserate.learners._examples import ClassMeans
from baserate.state import dumps

from .. import exported
from ..integrations.spark import streams

FOLDER = Path(__file__).parent
ROUNDS = 17
KEYS = np.array(["paris", "rome", "oslo", "paris", "rome"])


def _late():
    adapter = RegressAndReweight(max_waiting=12).fit(PROBA, Y)
    for i in range(ROUNDS):
        adapter.step(PROBA[batch_rows(i)], ids=[f"{i}-{j}" for j in range(5)])
    return adapter


def _chosen():
    """Labels at random, and some that were chosen with known probabilities."""
    adapter = RegressAndReweight().fit(PROBA, Y)
    for i in range(ROUNDS):
        rows = batch_rows(i)
        told = np.where(np.arange(5) % 2, Y[rows], -1)
        adapter.step(PROBA[rows], told, y_probability=None if i % 2 else 0.2 + 0.1 * np.arange(5))
    return adapter


def _bank():
    bank = Bank(RegressAndReweight().fit(PROBA, Y))
    for i in range(ROUNDS):
        bank.step(KEYS, PROBA[batch_rows(i)])
    return bank


def _classifier():
    model = FrozenEstimator(ClassMeans().fit(X, Y))
    clf = LabelShiftClassifier(model, max_waiting=9).fit(X, Y)
    for i in range(ROUNDS):
        clf.partial_fit(X[batch_rows(i)], ids=list(range(5 * i, 5 * i + 5)))
    return clf


def _bucket():
    """Rows of unfinished rounds, and rows that wait for the watermark."""
    rows = streams.table(90, seed=21, n_keys=5)
    middle = rows.column("at").cast("int64")[60].as_py()
    done = streams.go([(rows, 0), (rows.slice(0, 0), middle)], streams.plan(7))[1]
    return Bucket().set_state(read_blob(done.blob))


def objects():
    """One running object per mode of every exported class, by discovery, and those with a life of their own."""
    found = {
        name.partition(".")[2].lower().replace("[0]", "").replace("[", "-").removesuffix("]"): prepare(example, ROUNDS)
        for name, example in exported.examples().items()
    }
    return found | {
        "regressandreweight-late-labels": _late(),
        "regressandreweight-chosen-labels": _chosen(),
        "bank": _bank(),
        "labelshiftclassifier": _classifier(),
        "sparkbucket": _bucket(),
    }


def go_on(name, obj, rounds=6):
    """Everything an object says while it is moved by some more rounds."""
    if name == "sparkbucket":
        answered = streams.process(
            dumps(obj), streams.table(0, seed=0), streams.plan(7), streams.COLUMNS, 2**52
        ).answered
        return np.column_stack([answered.column(f"adapted_{column}").to_numpy() for column in streams.PROBA])
    said = []
    for i in range(ROUNDS, ROUNDS + rounds):
        rows = batch_rows(i)
        if name == "bank":
            said.append(obj.step(KEYS, PROBA[rows], Y[rows]).proba)
        elif name == "labelshiftclassifier":
            obj.update_labels([5 * i - 1, 5 * i - 2], Y[:2])
            said.append(obj.partial_fit(X[rows], ids=list(range(5 * i, 5 * i + 5))).predict_proba(X[:7]))
        elif name == "regressandreweight-late-labels":
            obj.update_labels([f"{i - 1}-2", f"{i - 2}-3"], Y[:2])
            step = obj.step(PROBA[rows], ids=[f"{i}-{j}" for j in range(5)])
            said.append(np.vstack([step.proba, obj.prior_interval().T]))
        else:
            said.append(output_of(obj))
            if role_of(obj).move is not None:
                move(obj, i)
    return np.array(said)


def arithmetic():
    """Results whose last digits depend on the processor and the libraries: where they agree, all else must."""
    rng = np.random.default_rng(0)
    a = rng.random((40, 30))
    return np.concatenate([np.exp(a).ravel(), np.log(a).ravel(), (a @ a.T).ravel(), np.linalg.svd(a)[1]])
