"""ONNX
====

A model served as ONNX, with the correction as an input of its graph: k numbers that may change with every request.

The graph returns the model's own probabilities, which are sent to the adapter, and the adapted ones. The calibration
that the adapter has learned from the holdout is a fixed part of the graph.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.linear_model import LogisticRegression

import baserate
from baserate.datasets import digits
from baserate.shifts import Monotone, sample_stream


def calibration(adapter):
    """Calibration that an adapter applies first: ``max(p, floor) ** scales * exp(biases)``, normalised."""
    fitted = adapter.calibrator_
    return fitted.scales_, fitted.biases_, fitted.floor_


def build_graph(model, adapter):
    """A linear model with the inputs ``X`` and ``offsets``, and the outputs ``proba`` and ``adapted``."""
    scales, biases, floor = calibration(adapter)
    constants = {
        "coef": model.coef_.T.astype(np.float32),
        "intercept": model.intercept_.astype(np.float32),
        "scales": scales,
        "biases": biases,
        "floor": np.array(floor),
    }
    nodes = [
        helper.make_node("MatMul", ["X", "coef"], ["products"]),
        helper.make_node("Add", ["products", "intercept"], ["logits"]),
        helper.make_node("Cast", ["logits"], ["wide_logits"], to=TensorProto.DOUBLE),
        helper.make_node("Softmax", ["wide_logits"], ["proba"], axis=1),
        helper.make_node("Max", ["proba", "floor"], ["raised"]),
        helper.make_node("Log", ["raised"], ["logs"]),
        helper.make_node("Mul", ["logs", "scales"], ["scaled"]),
        helper.make_node("Add", ["scaled", "biases"], ["calibrated"]),
        helper.make_node("Add", ["calibrated", "offsets"], ["corrected"]),
        helper.make_node("Softmax", ["corrected"], ["adapted"], axis=1),
    ]
    k, d = model.coef_.shape
    graph = helper.make_graph(
        nodes,
        "model_with_offsets",
        [
            helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", d]),
            helper.make_tensor_value_info("offsets", TensorProto.DOUBLE, [k]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n", k]) for name in ("proba", "adapted")],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    served = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(served, full_check=True)
    return served.SerializeToString()


def main(seed=0):
    """Serve a drifting stream, and compare the graph's probabilities with the adapter's."""
    data = digits.load()
    model = LogisticRegression(C=1e4, max_iter=1000).fit(data.source_X[:300], data.source_y[:300])  # far too confident
    adapter = baserate.RegressAndReweight().fit(model.predict_proba(data.source_X[300:]), data.source_y[300:])
    session = onnxruntime.InferenceSession(build_graph(model, adapter), providers=["CPUExecutionProvider"])

    features = data.target_X.astype(np.float32)
    stream = sample_stream(
        model.predict_proba(data.target_X), data.target_y, Monotone(second=np.eye(10)[8]), n_rounds=300, rng=seed
    )
    wrong, n, largest = np.zeros(2), 0, 0.0
    for batch in stream:
        request = {"X": features[batch.rows], "offsets": adapter.log_offsets()}
        proba, adapted = session.run(["proba", "adapted"], request)
        largest = max(largest, float(np.abs(adapted - adapter.predict_proba(proba)).max()))
        wrong += [(answer.argmax(axis=1) != batch.y).sum() for answer in (proba, adapted)]
        n += len(batch.y)
        adapter.update(proba)
    print(adapter.calibrator_.reason_)
    print(f"wrong: {wrong[0] / n:.1%} of the model's own answers, {wrong[1] / n:.1%} of the adapted ones")
    print(f"largest difference between onnxruntime and baserate: {largest:.1e}")
    return {"own": wrong[0] / n, "adapted": wrong[1] / n, "difference": largest}


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/reweighting.svg"
