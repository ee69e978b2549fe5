"""The declaration of what the state of ``baserate adapt`` saves."""

import os
from pathlib import Path
from typing import Any

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.scales import SCALES
from baserate.files.times import LATEST
from baserate.state.declarations import Part, Saved, Saves
from baserate.state.specs import (
    Array,
    Each,
    Either,
    Fields,
    Flag,
    Maybe,
    Number,
    Spec,
    Text,
    Together,
    Whole,
    floats,
    ints,
)

FIRST_BYTES = 16
"""The number of bytes that are kept of each part of a fingerprint."""
LARGEST_PIECE = 1 << 17
"""The most rows of a piece."""
_DIGEST = "[0-9a-f]{64}"
_WINDOW = 1 << 62  # the number of a window of time is nearer to 0; and of a key that had none, it is the lowest


def _bytes(size: str) -> Array:
    return Array("u1", (size,))


def _mark(size: str) -> Spec:
    return Maybe(Fields({"size": Whole(), "footer": _bytes(size)}))


OF_CLASSES = ("scale", "positive")
"""Values of the classes that a state does not name where each class has a column of probabilities."""
_OPTIONS = Fields(
    {
        "-o": Maybe(Text()),
        "--out-format": Text(),
        "--format": Text(),
        "--separator": Text(),
        "--time-format": Text(),
        "--rounds-file": Maybe(Text()),
        **dict.fromkeys(("--labels", "--key", "--time", "--id"), Maybe(Text())),
        "--rounds": Together((Whole(), Number(0.0, LATEST))),
        "--out-prefix": Text(),
        "--only": Flag(),
        "--wide": Flag(),
        "--level": Number(0.0, 1.0),
        "--wait": Whole(),
        "--late": Maybe(Text()),
        "--late-label": Text(),
        "--late-probability": Text(),
        "--ask": Whole(1),
        "--ask-file": Text(),
        "--costs": Text(),
        "--threshold": Number(0.0, 1.0),
        "--positive": Text(),
    },
    optional=(
        "--separator",
        "--time-format",
        "--late-label",
        "--late-probability",
        "--ask",
        "--ask-file",
        "--costs",
        "--threshold",
        "--positive",
    ),
)
_FILE = Fields(
    {
        "name": Text(),
        "fingerprint": Maybe(Text(pattern=f"({_DIGEST}){{1,2}}")),
        "options": _OPTIONS,
        "token": Text(pattern="[0-9a-f]{8}"),
        "piece_rows": Whole(1, LARGEST_PIECE),
        "position": Together((Whole(), Whole(), Whole())),
        "out": _mark("out"),
        "rounds": _mark("rounds"),
        "before": _bytes("before"),
        "found": Maybe(_bytes("found")),
        "ids": Maybe(Array("u8", ("ids",))),
        "finished": Flag(),
        "read": Maybe(Together((Whole(), Text(pattern=_DIGEST)))),
        "decided": Fields(
            {
                "names": Each(Text(), "decisions"),
                "counts": Each(Whole(), "decisions"),
                "expected_cost": Maybe(Number(0.0)),
            }
        ),
        "asked": Fields(
            {
                "most": Whole(1),
                "rows": ints("asked", low=0),
                "ids": Each(Text(), "asked"),
                "reasons": Each(Text(), "asked"),
                "worth": floats("asked", low=0.0),
                "priorities": floats("asked", low=0.0),
            }
        ),
    },
    optional=("decided", "asked"),
)


def _check(saved: Saved) -> str:
    state = saved.state
    keyed = issubclass(state["adapter"].cls, Bank)
    columns, class_names = state["classes"]["columns"], state["classes"]["names"]
    for names in (columns, class_names):
        if len(set(names)) < len(names):
            return "names a class twice"
    shape = (len(class_names),) * 2 if state["classes"].get("positive") is None else (1, 2)
    if (len(columns), len(class_names)) != shape:
        return "does not have a column for each class, or one score for two"
    counts = state["label_counts"]
    if max(counts["model_right"], counts["adapted_right"]) > counts["labelled"] or counts["labelled"] > state["rows"]:
        return "counts more labels than rows, or more right ones than labels"
    if len(state["finished_files"]) > state["files"]:
        return "knows more files than it has taken in"
    if state["clock"] is not None and keyed == isinstance(state["clock"][1], int):
        return "has a clock for keys and none, or the other way round"
    return "" if state["file"] is None else _check_file(state["file"], state["rows"], keyed=keyed)


def _check_file(file: dict[str, Any], rows: int, *, keyed: bool) -> str:
    row, _, mark_row = file["position"]
    options = file["options"]
    if not mark_row <= row <= rows:
        return "is in the midst of a file of more rows than it has taken in"
    if keyed != (options["--key"] is not None):
        return "has keys and a file without, or the other way round"
    decides = not options.keys().isdisjoint(("--costs", "--threshold"))
    if decides != ("decided" in file) or (decides and sum(file["decided"]["counts"]) != row):
        return "does not have the decisions on its rows"
    targets = [options[name] for name in ("-o", "--rounds-file")]
    if any(path is not None and not _is_place(path) for path in (*targets, options.get("--ask-file"))):
        return "names an output that is no path of a file"
    kept = [file[name] for name in ("found", "ids", "out", "rounds", "read")]
    if file["fingerprint"] is not None and len(file["fingerprint"]) != (128 if file["finished"] else 64):
        return "does not have the hash of its file"
    asked = file.get("asked")
    if ("--ask" in options) != ("--ask-file" in options) or (asked is None) == (
        "--ask" in options and not file["finished"]
    ):
        return "does not have the rows that it asks labels for"
    if asked is not None and (asked["most"] != options["--ask"] or len(asked["rows"]) > min(asked["most"] + 1, row)):
        return "asks for more labels than it was to"
    if file["finished"]:
        return "is done with a file that it keeps parts of" if any(part is not None for part in kept) else ""
    if [mark is None for mark in (file["out"], file["rounds"])] != [path is None for path in targets]:
        return "does not say how long the outputs are"
    if (None if file["ids"] is None else len(file["ids"])) != (None if options["--id"] is None else row):
        return "does not have the ids of its rows"
    return ""


def _is_place(path: str) -> bool:
    return "\0" not in path and os.path.normpath(path) == path and Path(path).is_absolute() and Path(path).name != ""


STREAM_STATE = Saves(
    state={
        "adapter": Either((Part(RegressAndReweight, {"k": "k"}, fitted=True), Part(Bank, {"k": "k", "keys": "keys"}))),
        "classes": Fields(
            {
                "columns": Each(Text()),
                "names": Each(Text(), "k"),
                "numbered": Flag(),
                "scale": Text(pattern="|".join(SCALES)),
                "positive": Maybe(Whole(0, 1)),
            },
            optional=OF_CLASSES,
        ),
        "holdout": Text(pattern=f"({_DIGEST}{_DIGEST})?"),
        "files": Whole(),
        "rows": Whole(),
        "finished_files": Array("u1", ("finished_files", 2 * FIRST_BYTES)),
        "label_counts": Fields(dict.fromkeys(("labelled", "model_right", "adapted_right"), Whole())),
        "late_labels": Whole(),
        "clock": Maybe(
            Together(
                (Number(0.0, LATEST), Either((Whole(-_WINDOW, _WINDOW), ints("keys", low=-_WINDOW, high=_WINDOW))))
            )
        ),
        "file": Maybe(_FILE),
    },
    check=_check,
)
"""The declaration of a `StreamState`."""
