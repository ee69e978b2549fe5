"""Bodies that make no sense, at random: a good one with something broken."""

import json

JSON = "application/json"
GOOD = {
    "adapt": {"proba": [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], "labels": ["ham", None], "ids": None, "batch_id": None},
    "labels": {"ids": ["a", "b"], "labels": ["ham", "spam"]},
    "infer": {"inputs": [{"name": "proba", "shape": [1, 3], "datatype": "FP64", "data": [0.2, 0.3, 0.5]}]},
}
PATHS = {
    "adapt": "/v1/streams/mail/adapt",
    "labels": "/v1/streams/mail/labels",
    "infer": "/v2/models/mail/infer",
}
# Values that belong nowhere in any of the bodies, whatever is replaced by one of them.
STRANGE = [
    {}, {"a": {}}, [[[]]], [[[[1]]]], "\u0000", "é" * 300, -1, 1e308, -1e308, 2**63, -(2**70), True, 0.1, "0.5", "NaN",
    [[0.5]], [["a"]], [{}], float("nan"), float("inf"), [[float("nan")] * 3], [[1e308] * 3], [[-0.0, 0.5, 0.4]],
    list(range(1000)), [[0.0] * 3],
]  # fmt: skip
# Where a strange value may be an ordinary one.
MAY_FIT = {("labels", "labels"), ("adapt", "ids"), ("adapt", "batch_id"), ("labels", "ids"), ("adapt", "labels")}


def malformed(rng):
    """Return method, path, content type, body, and whether the body may happen to be fine."""
    what = str(rng.choice(list(GOOD)))
    good, harmless, kind = json.loads(json.dumps(GOOD[what])), False, JSON
    how = rng.integers(6)
    if how == 0:  # something else in the place of a field
        field = str(rng.choice(list(good)))
        good[field] = STRANGE[rng.integers(len(STRANGE))]
        harmless = (what, field) in MAY_FIT
        data = json.dumps(good).encode()
    elif how == 1:  # a field that is not there
        good[str(rng.choice(["", "prob", "Proba", "__proto__", "a" * 1000]))] = STRANGE[rng.integers(len(STRANGE))]
        data = json.dumps(good).encode()
    elif how == 2:  # cut off
        data = json.dumps(good).encode()
        data = data[: rng.integers(len(data))]
    elif how == 3:  # a byte that is none of JSON's
        data = bytearray(json.dumps(good).encode())
        data.insert(rng.integers(len(data)), int(rng.choice([0, 1, 0x80, 0xFF, 0xC0])))
        data = bytes(data)
    elif how == 4:  # another content type
        kind = str(rng.choice(["text/plain", "application/xml", "", "application/jsonp", "image/png"]))
        data = json.dumps(good).encode()
    else:  # rows that are no probabilities
        wrong = [[0.5, 0.5], [1.0, 1.0, 1.0], [-0.1, 0.6, 0.5], [1e300] * 3, [0.3, 0.3, 0.3], [0.25] * 4]
        row = wrong[rng.integers(len(wrong))]
        what = str(rng.choice(["adapt", "infer"]))
        good = json.loads(json.dumps(GOOD[what]))
        if what == "adapt":
            good["proba"][int(rng.integers(2))] = row
        else:
            good["inputs"][0]["data"] = row
        data = json.dumps(good).encode()
    return "POST", PATHS[what], kind, data, harmless
