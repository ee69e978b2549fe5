"""warm_up: compile everything that requests will need, before there are any."""

import warnings

import numpy as np

from baserate.service.definitions import Label, Options, define
from baserate.service.entries import Labels, Shadow, rows_entry
from baserate.service.points import read_point
from baserate.service.state import StreamState


def warm_up(n_classes: int = 3) -> None:
    """Run a small stream through everything that moves or reads one."""
    rng = np.random.default_rng(0)
    y = np.arange(60 * n_classes) % n_classes
    odds = np.exp(rng.normal(4.0 * np.eye(n_classes)[y], 1.0))
    proba = odds / odds.sum(axis=1, keepdims=True)
    classes: list[Label] = [str(c) for c in range(n_classes)]
    with warnings.catch_warnings():  # about these rows, which are nobody's
        warnings.simplefilter("ignore")
        for options in (Options(transductive=True), Options(), Options(round_rows=30)):
            state = StreamState.fit(define(classes, proba, [classes[c] for c in y], options), 0.0)
            for i in range(10):
                part = slice(20 * i % 160, 20 * i % 160 + 20)
                ids: list[str | None] = [f"{i}-{j}" for j in range(len(proba[part]))]
                told = np.where(y[part] == 0, 0, -1)
                state.apply(rows_entry(0.0, proba[part], told if i % 2 else None, ids))
            state.apply(Labels(1.0, ["1-1", "2-2"], np.array([1, 0]).tobytes()))
            state.apply(Shadow(1.0, True))
            for rows in (proba, proba[y == 0]) * 5:
                state.apply(rows_entry(0.0, rows))
            state.predict(proba[:1])
            read_point(StreamState.loads(state.dumps()), 1.0, None)
