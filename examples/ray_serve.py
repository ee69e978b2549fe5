"""Ray Serve
=========

Ray Serve: as many replicas of the model as the traffic needs, and one replica that owns the adapter.

``num_replicas=1`` is what makes it right. A replica is an actor with a state of its own: of two, each would track the
class mix of its half of the traffic, slower and differently, and a label would reach the one that has not seen its
sample. Adapting a batch takes less than a millisecond, so one replica keeps up with many of a model.

Requests to a replica share one event loop; `adapt` and `labels` never wait inside, so that they run one after the other
and need no lock. The state is a file, from which a replica that Ray has restarted goes on.
"""

import logging
import tempfile
from pathlib import Path

import joblib
import numpy as np
import ray
from ray import serve
from sklearn.linear_model import LogisticRegression

import baserate
from baserate.datasets import digits
from baserate.shifts import Monotone, sample_stream

SAVE_EVERY = 50  # batches: what a crash may lose


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0.2})
class Adapter:
    """Owns the adapter: follows the class mix of all traffic."""

    def __init__(self, file):
        self.file = file
        self.adapter = baserate.load(file)

    async def adapt(self, proba, ids):
        """Adapt a batch of the model's own probabilities, and learn from it."""
        step = self.adapter.step(proba, ids=ids)
        if self.adapter.rounds_ % SAVE_EVERY == 0:
            baserate.save(self.adapter, self.file)
        return step.proba

    async def labels(self, ids, y):
        """Learn labels of earlier samples, by id; returns how many were used."""
        return self.adapter.update_labels(ids, y)

    async def rounds(self):
        """Return the number of batches so far."""
        return self.adapter.rounds_


@serve.deployment(num_replicas=2, ray_actor_options={"num_cpus": 0.2})
class Model:
    """Has no state, so there may be any number of it."""

    def __init__(self, file, owner):
        self.model = joblib.load(file)
        self.owner = owner

    async def predict(self, X, ids):
        """Return adapted probabilities."""
        return await self.owner.adapt.remote(self.model.predict_proba(X), ids)


def main(seed=0):
    """Serve digits that come to be mostly eights; kill the adapter's replica halfway, as a lost machine would."""
    data = digits.load()
    model = LogisticRegression(max_iter=1000).fit(data.source_X[:300], data.source_y[:300])
    fitted = baserate.RegressAndReweight().fit(model.predict_proba(data.source_X[300:]), data.source_y[300:])
    proba, drift = model.predict_proba(data.target_X), Monotone(second=np.eye(10)[8])
    stream = sample_stream(proba, data.target_y, drift, n_rounds=200, rng=seed)
    wrong, n, used = np.zeros(2), 0, 0
    with tempfile.TemporaryDirectory() as name:
        joblib.dump(model, Path(name) / "model.joblib")
        baserate.save(fitted, Path(name) / "adapter.baserate")
        ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        serve.start(proxy_location="Disabled")  # called by handle here; by default there is HTTP, too
        app = Model.bind(Path(name) / "model.joblib", Adapter.bind(Path(name) / "adapter.baserate"))
        entry = serve.run(app)
        owner = serve.get_deployment_handle("Adapter", "default")
        for batch in stream:
            ids = [f"{batch.index}-{i}" for i in range(len(batch.y))]
            adapted = entry.predict.remote(data.target_X[batch.rows], ids).result()
            used += owner.labels.remote(ids[:1], batch.y[:1]).result()  # a person labels one in ten
            wrong += [(answer.argmax(axis=1) != batch.y).sum() for answer in (batch.proba, adapted)]
            n += len(batch.y)
            if batch.index + 1 == 2 * SAVE_EVERY:  # just saved: only the label above is lost
                (replica,) = (a for a in ray.util.list_named_actors(all_namespaces=True) if "#Adapter#" in a["name"])
                ray.kill(ray.get_actor(**replica))  # Serve starts another, which loads the file
        rounds = owner.rounds.remote().result()
        ray.shutdown()
    print(f"wrong: {wrong[0] / n:.1%} of the model's own answers, {wrong[1] / n:.1%} of the adapted ones")
    print(f"one adapter behind two models, killed once: it knows {rounds} of {batch.index + 1} batches, ", end="")
    print(f"and took {used} labels")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/low_switching.svg"
