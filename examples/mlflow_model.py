"""MLflow
======

A model and its adapter as one MLflow model: what is loaded from the registry goes on where the last job stopped.

The adapter is an artifact of its own, a baserate file; nothing of it is pickled, and later versions of baserate can
read it. The wrapper is logged as this script ("models from code"), not as a pickled object. Each day's job loads the
newest model, predicts its day, and logs the model again with the adapter as it is then.

With ``mlflow models serve`` use one worker: each worker would track the class mix of its share of the traffic only.
"""

import logging
import os
import tempfile
from pathlib import Path

import joblib
import mlflow
import numpy as np
from sklearn.linear_model import LogisticRegression

import baserate
from baserate.datasets import digits
from baserate.shifts import Monotone, sample_stream

ROUND = 50  # rows
DAY = 10  # rounds


class AdaptedModel(mlflow.pyfunc.PythonModel):
    """A classifier whose probabilities are adapted to the class mix of the rows that it has predicted."""

    def load_context(self, context):
        """Load the classifier as its own library does, and the adapter as baserate does."""
        self.model = joblib.load(context.artifacts["model"])
        self.adapter = baserate.load(context.artifacts["adapter"])

    def predict(self, context, model_input: np.ndarray, params=None):
        """Adapted probabilities, round by round: each round is predicted from the rounds before it."""
        proba = self.model.predict_proba(np.asarray(model_input))
        rounds = [proba[start : start + ROUND] for start in range(0, len(proba), ROUND)]
        return np.concatenate([self.adapter.step(rows).proba for rows in rounds])


def log(model, adapter, example, folder):
    """Log a classifier with its adapter and some rows of its input, and return the address of the logged model."""
    joblib.dump(model, folder / "model.joblib")
    baserate.save(adapter, folder / "adapter.baserate")
    with mlflow.start_run():
        if adapter.rounds_ > 0:
            mlflow.log_metric("estimated_accuracy", adapter.estimated_accuracy().value)
        mlflow.log_metrics({f"share_{c}": share for c, share in enumerate(adapter.prior_)})
        logged = mlflow.pyfunc.log_model(
            name="digits",
            python_model=__file__,
            artifacts={"model": str(folder / "model.joblib"), "adapter": str(folder / "adapter.baserate")},
            input_example=example,  # the signature follows from it
            pip_requirements=["baserate", "scikit-learn"],
        )
    return logged.model_uri


def main(seed=0):
    """Run four daily jobs on digits that come to be mostly eights, and compare with a process that never stopped."""
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
    data = digits.load()
    model = LogisticRegression(max_iter=1000).fit(data.source_X[:300], data.source_y[:300])
    adapter = baserate.RegressAndReweight().fit(model.predict_proba(data.source_X[300:]), data.source_y[300:])
    proba, drift = model.predict_proba(data.target_X), Monotone(second=np.eye(10)[8])
    stream = list(sample_stream(proba, data.target_y, drift, n_rounds=40, batch_size=ROUND, rng=seed))
    wrong, n, same = np.zeros(2), len(stream) * ROUND, True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")  # in production: the address of your server
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("digits", folder.joinpath("artifacts").as_uri()))
        newest = log(model, adapter, data.target_X[:5], folder)
        for start in range(0, len(stream), DAY):
            day = stream[start : start + DAY]
            loaded = mlflow.pyfunc.load_model(newest)
            adapted = loaded.predict(np.concatenate([data.target_X[batch.rows] for batch in day]))
            wrapper = loaded.unwrap_python_model()
            newest = log(wrapper.model, wrapper.adapter, data.target_X[:5], folder)
            y = np.concatenate([batch.y for batch in day])
            own = np.concatenate([batch.proba for batch in day])
            wrong += [(answer.argmax(axis=1) != y).sum() for answer in (own, adapted)]
            expected = np.concatenate([adapter.step(batch.proba).proba for batch in day])
            same = same and np.abs(adapted - expected).max() < 1e-12
        print(f"logged: {len(list(folder.rglob('artifacts/*/adapter.baserate')))} models")
    print(f"wrong: {wrong[0] / n:.1%} of the model's own answers, {wrong[1] / n:.1%} of the adapted ones")
    print(f"what one long process gives: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()
else:
    mlflow.models.set_model(AdaptedModel())  # MLflow runs this script when it logs and loads the model

# sphinx_gallery_thumbnail_path = "images/labels_choose.svg"
