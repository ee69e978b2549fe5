"""Bucket: many keys in one blob of Spark's state, without the fitted adapter."""

from typing import Any, NamedTuple, Self, cast

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.bank.late_labels import problem_of
from baserate.integrations.spark.blobs import pack, unpack
from baserate.integrations.spark.keyed_rounds import KeyedRounds
from baserate.integrations.spark.pending import NO_NAME, Told
from baserate.integrations.spark.rounds import Rounds
from baserate.protocols import BankableTracker
from baserate.state import Component
from baserate.state.declarations import (
    Array,
    Each,
    Fields,
    Plain,
    Saved,
    Saves,
    Sizes,
    Text,
    Whole,
    flags,
    floats,
    ints,
    key_list,
    priors,
)
from baserate.state.unreadable import UnreadableError
from baserate.trust.keyed import saved_arrays, with_all_grids
from baserate.validation import check_proba

SIGNS = ("evidence", "alarm", "fallback", "correction_weight")
"""The trust signals of a blob's keys, for readers without the adapter."""


class Plan(NamedTuple):
    """All that decides about a bucket's answers besides its state.

    Parameters
    ----------
    bank : Bank
        Around the fitted adapter, without keys.
    rounds : Rounds
        The length of a round.
    expire : int
        Microseconds of event time without rows after which a key starts anew; 0: never.
    buckets : int
        The number of buckets.
    names : list of str
        The names of the classes.
    model : str
        A fingerprint of the holdout: keys whose trust signals are of another one begin those anew.
    waits : bool
        Whether rows wait for labels that come later.
    """

    bank: Bank
    rounds: Rounds
    expire: int
    buckets: int
    names: list[str]
    model: str = ""
    waits: bool = False

    def begin(self) -> KeyedRounds:
        """Keyed rounds without keys."""
        return KeyedRounds(_emptied(self.bank), self.rounds, self.expire, waits=self.waits)


class Counts(NamedTuple):
    """Rows of a bucket that were answered, those among them that came too late, and keys that expired."""

    rows: int = 0
    late: int = 0
    expired: int = 0


def _check(saved: Saved) -> str:
    state, n = saved.state, saved.sizes["keys"]
    proba = state["pending_proba"]
    if len(set(state["keys"])) < n:
        return "has keys that are not unique"
    if len(set(state["held"].tolist())) < len(state["held"]):
        return "has trackers of one key twice"
    if not isinstance(proba, np.ndarray) or proba.dtype.str not in ("<f4", "<f8"):
        return "has pending rows that are no probabilities"
    if proba.shape != (saved.sizes["pending"], len(state["names"])):
        return "has pending rows of another size"
    try:
        check_proba(proba)
    except ValueError as error:
        return f"has pending rows that are no probabilities: {error}"
    names, told = state["pending_names"], state["told"]
    if not isinstance(names, np.ndarray) or names.dtype.str != "<i8" or names.shape != (len(proba),):
        return "has pending rows with ids that are no whole numbers"
    if not isinstance(told, dict) or told.keys() != set(Told._fields):
        return "has late labels in another form"
    sizes = {
        len(array) if isinstance(array, np.ndarray) and array.dtype.str == "<i8" else -1 for array in told.values()
    }
    if len(sizes) > 1 or -1 in sizes or not ((told["places"] >= 0) & (told["places"] < n)).all():
        return "has late labels in another form"
    if max(state["pending_labels"].max(initial=-1), told["labels"].max(initial=-1)) >= len(state["names"]):
        return "has a label that is no class"
    return ""


class Bucket(Component, saved_as="spark_bucket", layout=3):
    """State of one bucket, in the library's own versioned format: what keys have learned, and rows that wait.

    It holds neither the fitted adapter nor anything of Spark.
    """

    saves = Saves(
        state={
            "buckets": Whole(1),
            "rounds": Text(),
            "tracker": Text(),
            "names": Each(Text(), "k"),
            "model": Text(),
            "keys": key_list("keys"),
            "taken": ints("keys", low=0),
            "windows": ints("keys"),
            "seen": ints("keys"),
            "prior": priors("keys", "k"),
            "evidence": floats("keys", low=0.0),
            "alarm": flags("keys"),
            "fallback": flags("keys"),
            "correction_weight": floats("keys", low=0.0, high=1.0),
            "pending_places": ints("pending", low=0, high="keys"),
            "pending_proba": Plain(),
            "pending_labels": ints("pending", low=-1),
            "pending_times": ints("pending"),
            "pending_names": Plain(),
            "told": Plain(),
            "missed": Whole(),
            "held": ints("held", low=0, high="keys"),
            "trackers": Plain(),
            "signs": Plain(),
            "unlabelled": Plain(),
            "expired": Whole(),
            "rows": Whole(),
            "late": Whole(),
            "waiting": Plain(),
        },
        optional=("signs", "unlabelled"),
        may_be_empty=True,
        check=_check,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which knew neither its model nor what its keys' signs said, and had no late labels; and 2."""
        if state.get("signs"):  # before layout 3 they knew fewer grids
            state = {**state, "signs": with_all_grids(state["signs"])}
        if layout == 2:
            return params, state
        n = len(state["keys"])
        calm = {"evidence": np.ones(n), "correction_weight": np.ones(n)}
        calm |= {name: np.zeros(n, dtype=bool) for name in ("alarm", "fallback")}
        no_labels = {"pending_names": np.full(len(state["pending_places"]), NO_NAME), "told": Told.none()._asdict()}
        return params, {**state, **calm, **no_labels, "missed": 0, "model": ""}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Take over a state, which is not copied: it is large, and nobody else's."""
        self.__dict__.update(state)
        return self


class Opened(NamedTuple):
    """An open bucket: its keys at work, its counts, and the rows that wait for the watermark, as they were packed."""

    keyed: KeyedRounds
    counts: Counts
    waiting: bytes


def open_bucket(blob: bytes | None, plan: Plan) -> Opened:
    """Open a bucket from its blob, or begin one; raises `ValueError` if it does not belong to the plan."""
    keyed = plan.begin()
    if blob is None:
        return Opened(keyed, Counts(), b"")
    state = read_blob(blob)
    if state["model"] not in ("", plan.model):
        _forget_signs(state)  # of another holdout
    _check_plan(state, plan)
    keyed.set_state(state)
    counts = Counts(state["rows"], state["late"], state["expired"])
    return Opened(keyed, counts, state["waiting"].tobytes())


def close_bucket(opened: Opened, plan: Plan) -> bytes:
    """Return the blob of a bucket."""
    bucket, signs = Bucket(), opened.keyed.signs()
    bucket.set_state(
        {
            "buckets": plan.buckets,
            "rounds": plan.rounds.text,
            "tracker": _kind(plan.bank),
            "names": plan.names,
            "model": plan.model,
            "prior": opened.keyed.priors(),
            **{name: getattr(signs, name) for name in SIGNS},
            "rows": opened.counts.rows,
            "late": opened.counts.late,
            "waiting": np.frombuffer(opened.waiting, dtype=np.uint8),
            **opened.keyed.get_state(),
        }
    )
    return pack(bucket)


def read_blob(blob: bytes) -> dict[str, Any]:
    """Return what a blob holds, as plain data."""
    bucket = unpack(blob, "a bucket of Spark's state")
    if not isinstance(bucket, Bucket):
        raise ValueError(f"a bucket of Spark's state holds a {type(bucket).__name__}, not a bucket.")
    return bucket.get_state()


def make_plan(
    adapter: RegressAndReweight,
    rounds: Rounds,
    *,
    expire: int = 0,
    buckets: int = 1,
    names: list[str],
    model: str = "",
    waits: bool = False,
) -> Plan:
    """Return the plan around a fitted adapter."""
    bank = Bank(adapter)
    bank.leave_pool_out()  # buckets are independent, and a blob does not hold it
    return Plan(bank, rounds, expire, buckets, names, model, waits)


def _kind(bank: Bank) -> str:
    return type(bank.adapter.tracker_).__name__


def _emptied(bank: Bank) -> Bank:
    """The same bank, without keys: to copy the adapter for each bucket would take longer than its rows."""
    bank.drop(bank.keys)
    state = bank.get_state()
    state.pop("_waiting", None)  # it counts labels that were missed
    return bank.set_state(state)


def _forget_signs(state: dict[str, Any]) -> None:
    """Let the trust signals begin anew, and labels that come later count for those no more."""
    state.pop("signs", None)
    if state.get("unlabelled"):
        state["unlabelled"]["numbers"] = np.full(len(state["unlabelled"]["numbers"]), -1)


def _check_plan(state: dict[str, Any], plan: Plan) -> None:
    """Refuse the state of another plan."""
    asked = {
        "buckets": plan.buckets,
        "rounds": plan.rounds.text,
        "tracker": _kind(plan.bank),
        "names": plan.names,
    }
    for what, value in asked.items():
        if state[what] != value:
            raise ValueError(
                f"this checkpoint was begun with {what} = {state[what]!r}, and adapt was now called with {value!r}. "
                f"Give the same {what}, or begin a new checkpoint."
            )
    try:
        _check_trackers(state, plan)
    except UnreadableError as error:
        raise ValueError(
            f"this checkpoint holds trackers that this adapter cannot continue: a bucket {error}. Give the options "
            "that the checkpoint was begun with."
        ) from error


def _check_trackers(state: dict[str, Any], plan: Plan) -> None:
    """Refuse arrays of another form than the tracker's own, or with values that it does not declare."""
    tracker = cast(BankableTracker, plan.bank.adapter.tracker_)
    fresh = tracker.new_state(tracker.birth_[np.newaxis])._asdict()
    n = len(state["held"])
    declared = vars(type(tracker)).get("saves")
    if declared is not None:
        declared.state["_state"].check(state["trackers"], "trackers", Sizes({"k": len(plan.names), "keys": n}))
    Fields({name: Array(array.dtype.str, (n, *array.shape[1:]), finite=False) for name, array in fresh.items()}).check(
        state["trackers"], "trackers", Sizes()
    )
    if state.get("unlabelled"):
        rounds = int(np.max(state["trackers"]["rounds"], initial=0)) if "rounds" in state["trackers"] else 0
        problem = problem_of(state["unlabelled"], len(plan.names), n, type(tracker), rounds)
        if problem:
            raise UnreadableError(problem)
    parts = plan.bank.adapter.key_parts()
    if state.get("signs"):
        if parts is None:
            raise UnreadableError("holds trust signals, which this adapter does without")
        saved_arrays(parts.n_cells).check(state["signs"], "signs", Sizes({"k": len(plan.names), "keys": n}))
