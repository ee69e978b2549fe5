"""One bucket of 256 keys without Spark: ``python -m tests.proving.spark.bucket``; prints processor time and bytes."""

import sys
import time
import warnings

from baserate.integrations.spark.bucket import close_bucket, make_plan, open_bucket
from baserate.integrations.spark.fitting import fit_adapter
from baserate.integrations.spark.processing import Columns, process
from baserate.integrations.spark.rounds import read_rounds
from baserate.trust import HoldoutWarning

from .sessions import NAMES, PROBA, holdout, micro_batch
from .speed import WARM, tracked_options

KEYS, ROWS, BATCHES, TIMES = 256, 768, 14, 3
COLUMNS = Columns("shop", PROBA, None, "id", "at")


def milliseconds(call, times):
    """Return the least processor time of a few tries: the machine may be busy."""
    took = []
    for _ in range(times):
        begin = time.process_time()
        call()
        took.append(1000 * (time.process_time() - begin))
    return min(took)


def planned(options, rounds):
    """Return the plan of a profile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoldoutWarning)
        adapter = fit_adapter(holdout(), PROBA, options, read_rounds(rounds))
    return make_plan(adapter, read_rounds(rounds), names=NAMES)


def measured(options, rounds):
    """Move a bucket as the measurement with Spark does; return milliseconds a micro-batch, and bytes a key."""
    plan = planned(options, rounds)
    batches = [micro_batch(i, ROWS if i else WARM * ROWS, KEYS) for i in range(BATCHES)]
    blob, took, sizes = None, [], []
    for i, table in enumerate(batches):
        before = blob
        took.append(milliseconds(lambda: process(before, table, plan, COLUMNS), TIMES if i else 1))  # noqa: B023
        blob = process(before, table, plan, COLUMNS).blob
        sizes.append(len(blob) / KEYS)
    opened = open_bucket(blob, plan)
    return {
        "micro-batch": sum(took[1:]) / (BATCHES - 1),
        "open": milliseconds(lambda: open_bucket(blob, plan), 10),
        "close": milliseconds(lambda: close_bucket(opened, plan), 10),
        "bytes a key after the first and the last": (round(sizes[0]), round(sizes[-1])),
    }


def bytes_of_long_streams(options, rounds):
    """Return bytes a key after 8,000 rows a key, and half a round that waits."""
    plan, blob = planned(options, rounds), None
    for i in range(16):
        rows = 500 + (rounds // 2 if i == 15 else 0)
        blob = process(blob, micro_batch(i, rows * KEYS, KEYS), plan, COLUMNS).blob
    return round(len(blob) / KEYS)


def main():
    """Print the figures of each profile."""
    for name, options in {"everything on": {}, "light": tracked_options({"light": True})}.items():
        for rounds in (10, 100):
            found = measured(options, rounds)
            found["bytes a key of long streams"] = bytes_of_long_streams(options, rounds)
            print(name, f"rounds of {rounds}:", found, file=sys.stdout, flush=True)


if __name__ == "__main__":
    main()
