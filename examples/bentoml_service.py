"""BentoML
=======

A BentoML service that owns an adapter: probabilities in, adapted probabilities out, labels when they arrive.

To serve it, put the file of a fitted adapter (``baserate.save``) in place and run

    cd examples && BASERATE_STATE=/path/to/adapter.baserate bentoml serve bentoml_service:Adapter

One worker (``workers=1``) and not several: each worker is a process and would track the class mix of its share of the
traffic only. Adapting a batch takes less than a millisecond; put the model, which takes longer, into a service of its
own with as many workers as it needs. Here the service is called in this process, through its HTTP interface.
"""

import logging
import os
import tempfile
from pathlib import Path

import bentoml
import numpy as np
from sklearn.linear_model import LogisticRegression
from starlette.testclient import TestClient

import baserate
from baserate.datasets import digits
from baserate.shifts import Monotone, sample_stream

SAVE_EVERY = 100  # batches: what a crash may lose


@bentoml.service(name="adapter", workers=1)
class Adapter:
    """Follows the class mix of what it is sent, and keeps its state in a file."""

    def __init__(self) -> None:
        self.file = Path(os.environ["BASERATE_STATE"])
        self.adapter = baserate.load(self.file)
        copy = baserate.load(self.file)  # where nothing is compiled yet, this takes longer than a request may
        copy.step(np.full((2, len(copy.prior_)), 1.0 / len(copy.prior_)), ids=["0", "1"])
        copy.update_labels(["0"], [0])

    @bentoml.api
    def adapt(self, proba: list[list[float]], ids: list[str]) -> dict[str, list]:
        """Adapt a batch of the model's own probabilities, and learn from it; labels may follow by id."""
        with self.adapter.guard:  # requests are handled in threads: no other round between this one and its save
            try:
                step = self.adapter.step(proba, ids=ids)
            except ValueError as error:  # the message says what is wrong with the request: status 400, not 500
                raise bentoml.exceptions.InvalidArgument(str(error)) from error
            if self.adapter.rounds_ % SAVE_EVERY == 0:
                baserate.save(self.adapter, self.file)
        return {"proba": step.proba.tolist(), "labels": step.labels.tolist(), "prior": step.prior.tolist()}

    @bentoml.api
    def labels(self, ids: list[str], labels: list[int]) -> dict[str, int]:
        """Learn labels of earlier samples, by id."""
        with self.adapter.guard:
            try:
                used = self.adapter.update_labels(ids, labels)
            except ValueError as error:
                raise bentoml.exceptions.InvalidArgument(str(error)) from error
            return {"used": used, "waiting": self.adapter.waiting_}

    @bentoml.on_shutdown
    def save(self) -> None:
        """Write the state where the next start finds it."""
        with self.adapter.guard:
            baserate.save(self.adapter, self.file)


def main(seed=0):
    """Send a stream of digits with labels for some, and a bad request; the state file outlives the service."""
    logging.getLogger("bentoml").setLevel(logging.CRITICAL)  # it logs refused requests with their traceback
    data = digits.load()
    model = LogisticRegression(max_iter=1000).fit(data.source_X[:300], data.source_y[:300])
    fitted = baserate.RegressAndReweight().fit(model.predict_proba(data.source_X[300:]), data.source_y[300:])
    proba, drift = model.predict_proba(data.target_X), Monotone(second=np.eye(10)[8])
    stream = list(sample_stream(proba, data.target_y, drift, n_rounds=300, rng=seed))
    wrong, n, used = np.zeros(2), 0, 0
    with tempfile.TemporaryDirectory() as name:
        os.environ["BASERATE_STATE"] = str(Path(name) / "adapter.baserate")
        baserate.save(fitted, os.environ["BASERATE_STATE"])
        with TestClient(Adapter.to_asgi()) as client:  # starts the service, and shuts it down
            for batch in stream:
                ids = [f"{batch.index}-{i}" for i in range(len(batch.y))]
                answer = client.post("/adapt", json={"proba": batch.proba.tolist(), "ids": ids}).json()
                told = {"ids": ids[:1], "labels": batch.y[:1].tolist()}  # a person labels one in ten
                used += client.post("/labels", json=told).json()["used"]
                wrong += [(batch.proba.argmax(axis=1) != batch.y).sum(), (answer["labels"] != batch.y).sum()]
                n += len(batch.y)
            refused = client.post("/adapt", json={"proba": [[0.5, 0.5]], "ids": ["x"]})
        rounds = baserate.load(os.environ["BASERATE_STATE"]).rounds_
    print(f"wrong: {wrong[0] / n:.1%} of the model's own answers, {wrong[1] / n:.1%} of the adapted ones")
    print(f"rounds in the state file: {rounds}, labels used: {used}")
    print(f"a bad request: status {refused.status_code}, {refused.text}")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/accuracy.svg"
