"""Answers to batches as plain data."""

from typing import Any

import numpy as np

from baserate.protocols import FloatArray
from baserate.service.definitions import Label
from baserate.service.entries import Answer


def tell_answer(answer: Answer, classes: list[Label]) -> dict[str, Any]:
    """Return an answer to a batch as plain data."""
    told: dict[str, Any] = {}
    if answer.proba is not None:
        proba = np.frombuffer(answer.proba).reshape(answer.n, len(classes))
        told["proba"] = proba.tolist()
        told["labels"] = labels_of(proba, classes)
    told["prior"] = np.frombuffer(answer.prior).tolist()
    told["round"] = answer.round
    told["flags"] = answer.flags
    return told


def labels_of(proba: FloatArray, classes: list[Label]) -> list[Label]:
    """Return the most probable class of each row."""
    return [classes[c] for c in proba.argmax(axis=1).tolist()]
