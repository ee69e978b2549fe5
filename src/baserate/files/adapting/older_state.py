"""States of ``adapt --state`` that were saved with an older layout."""

from typing import Any

import numpy as np

from baserate.files.formats.parquet import mark_of_parts


def from_layout_1(state: dict[str, Any]) -> dict[str, Any]:
    """A state of layout 1 in layout 2.

    Layout 1 had the counts of labels side by side, and a file's progress as it came to be: fields that were not there
    yet, or no more, and marks by format.
    """
    kept = {name: state[name] for name in ("adapter", "classes", "holdout", "files", "rows", "clock")}
    return {
        **kept,
        "finished_files": state["done"],
        "late_labels": state["late"],
        "label_counts": {name: state[name] for name in ("labelled", "model_right", "adapted_right")},
        "file": None if state["file"] is None else _file(state["file"]),
    }


def _file(file: dict[str, Any]) -> dict[str, Any]:
    kept = {name: file[name] for name in ("name", "fingerprint", "options", "token", "before", "finished")}
    return {
        **kept,
        "piece_rows": file["size"],
        "position": (file["row"], file["mark"], file["mark_row"]),
        "out": _mark(file["out"]),
        "rounds": _mark(file["rounds"]),
        "found": file.get("found"),
        "ids": file.get("ids"),
    }


def _mark(mark: dict[str, Any]) -> dict[str, Any] | None:
    """The end of an output; that of a Parquet file was the parts of its footer."""
    if not mark:
        return None
    if "groups" not in mark:
        return {"size": mark["size"], "footer": np.empty(0, dtype=np.uint8)}
    ends, groups = mark["ends"].tolist(), mark["groups"].tobytes()
    parts = [groups[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    found = mark_of_parts(mark["size"], parts, mark["rows"], mark["frame"].tobytes())
    return {"size": found.size, "footer": np.frombuffer(found.footer, dtype=np.uint8)}
