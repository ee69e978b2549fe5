"""Kills of a running query, and whether every row is answered once, as one process answers it."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...integrations.spark import streams

JOB = Path(__file__).parents[2] / "system/spark_job.py"
KINDS = ("driver", "jvm", "worker")
STREAMS = {"plain": {"buckets": 3}, "watermarked": {"buckets": 3, "watermark": "5 minutes"}}
FILES, ROWS_A_FILE = 72, 50
QUICK = '--conf "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'
"""Java without its second compiler, which would take half of the time of a query that is killed so soon."""


def rows_of(name):
    """Return the rows of a stream: 25 keys, labels now and then."""
    return streams.table(FILES * ROWS_A_FILE, seed=41 + list(STREAMS).index(name), n_keys=25)


def prepare(folder, name):
    """Write the files of a stream, one micro-batch each."""
    rows = rows_of(name)
    (folder / "in").mkdir(parents=True)
    pq.write_table(rows, folder / "all.parquet")
    for i in range(FILES):
        file = folder / f"in/{i}.parquet"
        pq.write_table(rows.slice(ROWS_A_FILE * i, ROWS_A_FILE), file)
        os.utime(file, (1_700_000_000 + i,) * 2)  # Spark takes files in this order
    proba, labels = streams.holdout()
    pd.DataFrame(proba, columns=streams.PROBA).assign(label=labels).to_parquet(folder / "holdout.parquet")


def start(folder, name):
    """Start the query in a group of processes of its own."""
    words = [sys.executable, str(JOB), str(folder), name, json.dumps(STREAMS[name])]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": QUICK}
    with (folder / "errors").open("wb") as errors, (folder / "said").open("wb") as said:
        return subprocess.Popen(words, stdout=said, stderr=errors, env=environment, start_new_session=True)


def committed(folder, name):
    """Return the number of micro-batches that are committed."""
    commits = folder / f"checkpoint-{name}/commits"
    return sum(file.name.isdigit() for file in commits.iterdir()) if commits.is_dir() else 0


def descendants(pid):
    """Return the processes below one, with their command lines."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(words[1]), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended meanwhile
    found, frontier = {}, [pid]
    while frontier:
        above = frontier.pop()
        below = [(child, line) for child, (parent, line) in parents.items() if parent == above]
        found.update(below)
        frontier += [child for child, _ in below]
    return found


def parent_of(pid):
    """Return the process that started one, or 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def kill(job, kind):
    """Kill a part of the query at once; return how many processes that were."""
    below = descendants(job.pid)
    daemons = {pid for pid, line in below.items() if "pyspark" in line and "daemon" in line}
    workers = [pid for pid in daemons if parent_of(pid) in daemons]
    chosen = {
        "driver": [job.pid],
        "jvm": [pid for pid, line in below.items() if "java" in line.split(" ", 1)[0]],
        "worker": workers,  # all of them, as some only wait
    }[kind]
    killed = 0
    for pid in chosen:
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            continue  # it has ended meanwhile
    return killed


def end(job, below):
    """End what is left of a query."""
    for pid in [job.pid, *below]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    job.wait()


def kill_once(folder, name, rng, kind):
    """Start the query, kill a part of it within four seconds after its first new micro-batch, and end the rest."""
    before, job = committed(folder, name), start(folder, name)
    until = time.monotonic() + 600
    while committed(folder, name) <= before and job.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    wait = rng.uniform(0.0, 4.0)
    time.sleep(wait)
    if job.poll() is not None:
        return None  # it had finished
    below, at = descendants(job.pid), committed(folder, name)
    n = kill(job, kind)
    went_on = False
    if kind == "worker":  # Spark notices, and gives up, as its one try of a task is over; unless all were waiting
        try:
            job.wait(timeout=20)
        except subprocess.TimeoutExpired:
            went_on = committed(folder, name) > at
    end(job, below)
    found = {"stream": name, "kind": kind, "killed": n, "after": round(wait, 2), "committed": at}
    return found | ({"went_on": went_on} if kind == "worker" else {})


def finished(folder, name):
    """Run the query to its end; return how many rows it answered, after comparing each with one process."""
    job = start(folder, name)
    if job.wait(timeout=1800):
        raise RuntimeError((folder / "errors").read_text()[-3000:])
    answered = pq.read_table((folder / "said").read_text().strip().splitlines()[-1])
    rows = rows_of(name)
    expected = streams.one_at_a_time(rows, streams.adapter(), count=7)
    got = streams.by_id(answered)  # which raises an error for a row that was answered twice
    if name == "watermarked":
        latest = pa.compute.max(rows.column("at")).cast("int64").as_py()
        until = latest - 5 * streams.MINUTE
        on_time = [row["id"] for row in rows.to_pylist() if row["at"].timestamp() * 1e6 <= until]
        missing = set(on_time) - got.keys()
        if missing:
            raise AssertionError(f"{len(missing)} rows were not answered")
        expected = {key: value for key, value in expected.items() if key in got}
    streams.same(answered, expected)
    return len(got)


def kills(folder, count, done, seconds, streams_asked=tuple(STREAMS)):
    """Go on killing until there are so many kills of each stream, or the time is over; then compare.

    Parameters
    ----------
    folder : Path
        Keeps the queries from one call to the next.
    count : int
        Kills of each stream.
    done : dict
        What earlier calls have found; it is added to.
    seconds : float
        The time after which no more query is begun.
    streams_asked : sequence of str
        Of `STREAMS`.
    """
    until = time.monotonic() + seconds
    for name in streams_asked:
        place = folder / name
        if not place.exists():
            prepare(place, name)
        mine = [one for one in done.setdefault("kills", []) if one["stream"] == name]
        while len(mine) < count and time.monotonic() < until:
            rng = random.Random(f"{name} {len(mine)}")
            found = kill_once(place, name, rng, KINDS[len(mine) % len(KINDS)])
            if found is None:
                raise RuntimeError(f"{name} came to its end after {len(mine)} kills; give it more files.")
            if found["killed"]:
                mine.append(found)
                done["kills"].append(found)
                print(found, file=sys.stderr, flush=True)
        if len(mine) >= count and name not in done.setdefault("rows", {}) and time.monotonic() < until:
            done["rows"][name] = finished(place, name)
            shutil.rmtree(place)
