"""The check of a batch that comes from users: compiled code does not check shapes."""

from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.validation import check_labels, check_proba, check_vector


def check_evidence(evidence: Evidence, k: int) -> tuple[FloatArray, FloatArray, IntArray | None]:
    """Return the class probabilities, the source prior and the labels of a batch of k classes, checked."""
    proba = check_proba(evidence.proba, k, "evidence.proba")
    source_prior = check_vector(evidence.source_prior, k, "evidence.source_prior")
    if not source_prior.min() > 0.0:
        raise ValueError("evidence.source_prior gives a class no mass; the source needs every class.")
    labels = evidence.labels
    if labels is not None:
        labels = check_labels(labels, len(proba), k, "evidence.labels", missing=True)
    return proba, source_prior, labels
