"""All proofs on a local Spark: ``python tools/spark_proof.py --out FILE``; goes on where it was stopped."""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

from .kills import STREAMS, kills

ALL = ["baserate", "packed identity", "identity"]
BIG = {"keys": 100_000, "rows": 300_000, "kinds": ALL}
RUNS = {
    "100,000 keys": {**BIG, "batches": 14, "bank": True, "most_seconds": 1500},
    "100,000 keys, light": {**BIG, "batches": 4, "light": True, "kinds": ["baserate", "identity"]},
    "1,000 keys": {**BIG, "keys": 1_000, "batches": 4},
    "10,000 keys": {**BIG, "keys": 10_000, "batches": 4},
    "10,000 keys, three rows a key": {**BIG, "keys": 10_000, "rows": 30_000, "batches": 7, "bank": True},
    "1,000 keys, three rows a key": {**BIG, "keys": 1_000, "rows": 3_000, "batches": 7, "bank": True},
    "10,000 keys, no changelog": {
        **BIG,
        "keys": 10_000,
        "rows": 30_000,
        "batches": 7,
        "changelog": False,
        "kinds": ["baserate", "identity"],
    },
    "one state a key, 3,000 keys": {
        "keys": 3_000,
        "rows": 9_000,
        "batches": 3,
        "kinds": ["baserate", "one state a key"],
    },
    "one state a key": {"keys": 1_000, "rows": 3_000, "batches": 4, "kinds": ["baserate", "one state a key"]},
}
"""Each in a process of its own; three rows a key in a micro-batch where there are 100,000 keys."""


def speed(name, out):
    """Run one measurement, unless it is there."""
    if name in out:
        return
    words = [sys.executable, "-m", "tests.proving.spark.speed", json.dumps(RUNS[name])]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    out[name] = json.loads(said.strip().splitlines()[-1])


def main():
    """Run what is asked for, and keep the results after each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/baserate-spark-proof"), help="where queries are kept")
    parser.add_argument("--kills", type=int, default=12, help="of each of two streams")
    parser.add_argument("--streams", nargs="*", choices=STREAMS, default=[*STREAMS], help="to kill")
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which nothing new is begun")
    parser.add_argument("--only", nargs="*", choices=["kills", *RUNS], default=["kills", *RUNS])
    asked = parser.parse_args()
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    results["machine"] = {"cores": 2, "python": platform.python_version()}
    for part in asked.only:
        if part == "kills":
            kills(asked.folder, asked.kills, results.setdefault("kills", {}), asked.seconds, asked.streams)
        else:
            speed(part, results.setdefault("speed", {}))
        asked.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0
