"""The running objects whose states are kept here, and how they go on."""

from pathlib import Path

import numpy as np

from baserate.checks._roles import PROBA, X, Y, batch_rows, samples_for
from baserate.trackers import FLHFTL
from baserate_lab.models import LinearSGD, ResNet18, TransformerHead
from baserate_lab.paper.published import Lagged, PublishedATLAS, PublishedROGD, PublishedUOGD

FOLDER = Path(__file__).parent
ROUNDS = 7
IMAGES = np.random.default_rng(0).integers(256, size=(12, 8, 8, 3), dtype=np.uint8)


def _lagged():
    tracker = Lagged(FLHFTL(3))
    for z in PROBA[:ROUNDS]:
        tracker.update(z)
    return tracker


def _adapter(adapter):
    adapter.fit(samples_for(adapter), Y)
    for i in range(ROUNDS):
        adapter.update(samples_for(adapter)[batch_rows(i)])
    return adapter


def _head():
    head = TransformerHead("an-encoder-that-is-not-here")
    head.coef_, head.intercept_, head.classes_ = np.eye(3), np.zeros(3), np.arange(3)
    return head


def objects():
    """One running object of every class that can be saved."""
    layer = np.eye(3)
    return {
        "lab_lagged": _lagged(),
        "lab_published_rogd": _adapter(PublishedROGD(horizon=100)),
        "lab_published_uogd": _adapter(PublishedUOGD(layer, horizon=100)),
        "lab_published_atlas": _adapter(PublishedATLAS(layer, horizon=100)),
        "lab_linear_sgd": LinearSGD(batch_size=20, rng=0).fit(X, Y),
        "lab_resnet18": ResNet18(width=1, epochs=1, batch_size=4, rng=0).fit(IMAGES, np.arange(12) % 2),
        "lab_transformer_head": _head(),
    }


def go_on(obj):
    """Everything an object says while it is moved on."""
    if isinstance(obj, TransformerHead):
        return obj.coef_
    if isinstance(obj, ResNet18):
        return obj.predict_proba(IMAGES)
    if isinstance(obj, LinearSGD):
        return obj.predict_proba(X)
    said = []
    for i in range(ROUNDS, ROUNDS + 5):
        if isinstance(obj, Lagged):
            said.append(obj.predict())
            obj.update(PROBA[i])
        else:
            said.append(obj.step(samples_for(obj)[batch_rows(i)]).proba)
    return np.array(said)
