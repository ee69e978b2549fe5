"""All proofs with their full counts: ``python tools/service_proof.py --out FILE``; goes on where it was stopped."""

import argparse
import asyncio
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from baserate import RegressAndReweight

from .kills import killed, replicas_killed
from .load import load, request
from .postgres import Postgres
from .process import ServerProcess, free_port

K = 10
NAMES = [f"c{c}" for c in range(K)]


def outputs(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    odds = np.exp(rng.normal(3.0 * np.eye(K)[y], 1.0))
    return odds / odds.sum(axis=1, keepdims=True), y


HELD, HELD_Y = outputs(1000, 0)


def definition():
    return {"classes": NAMES, "holdout": {"proba": HELD.tolist(), "labels": [NAMES[c] for c in HELD_Y]}}


def kills(folder, count, done):
    """SQLite, killed again and again under load."""
    with ServerProcess(folder, "--snapshot-entries", "200", "--max-loaded", "2") as server:
        begun = time.monotonic()
        found, counted = killed(server, count, seed=done)
        return {"kills": count, "batches": counted, "retries": found.retried, "seconds": time.monotonic() - begun}


def postgres(folder, count, done):
    """Two servers on PostgreSQL: one or the other killed again and again, the database restarted once for ten kills."""
    database = Postgres().create()
    try:
        options = ("--store", database.url, "--snapshot-entries", "100")
        with ServerProcess(folder / "one", *options) as one, ServerProcess(folder / "two", *options) as two:
            found, counted = replicas_killed([one, two], database, count, seed=done)
        return {"kills": count, "restarts": 1, "batches": counted, "retries": found.retried}
    finally:
        database.remove()


def bodies(folder, count, done):
    """Malformed bodies: 4xx with a message, and the state as it was."""
    from tests.service.malformed import malformed
    from tests.service.served import made, serving, state_of

    async def run():
        statuses, rng = {}, np.random.default_rng(done)
        async with serving(folder) as client:
            await made(client)
            before = state_of(client)
            for number in range(count):
                method, path, kind, data, harmless = malformed(rng)
                answer = await client.request(method, path, content=data, headers={"content-type": kind})
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                assert harmless or (400 <= answer.status_code < 500 and answer.json()["error"]), (data, answer.text)
                assert answer.status_code < 500
                if answer.status_code == 200:
                    before = state_of(client)
                elif number % 1000 == 0:
                    assert state_of(client) == before
            assert state_of(client) == before
        return {"bodies": count, "statuses": {str(status): n for status, n in sorted(statuses.items())}}

    return asyncio.run(run())


def family(pid):
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def cpu(pid):
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def speed(folder, streams, seconds):
    """10 x 10 batches: requests a second, as a ratio to an empty handler with the same fsyncs, alternating."""
    port, told = free_port(), {}
    empty = subprocess.Popen([sys.executable, "-m", "tests.proving.empty", str(folder), str(port)])
    try:
        with ServerProcess(folder / "streams") as server, httpx.Client(base_url=server.url, timeout=60) as http:
            for i in range(streams):
                assert http.put(f"/v1/streams/s{i}", json=definition()).status_code == 201
            sent = [
                request(f"/v1/streams/s{i % streams}/adapt", json.dumps({"proba": outputs(10, i)[0].tolist()}).encode())
                for i in range(5 * streams)  # a stream that has the same rows again and again would raise alarms
            ]
            for connections in (1, 64):
                found = {"service": [], "empty": []}
                for _ in range(3):
                    for name, place in (("empty", port), ("service", server.port)):
                        process = empty if name == "empty" else server.process
                        before = [cpu(pid) for pid in family(process.pid)]
                        rate, times = load(place, sent, connections, seconds)
                        after = [cpu(pid) for pid in family(process.pid)]
                        spent = [1e6 * (b - a) / len(times) for a, b in zip(before, after, strict=True)]
                        found[name].append((rate, float(np.quantile(times, 0.99)), float(np.median(times)), spent))
                ratios = [s[0] / e[0] for s, e in zip(found["service"], found["empty"], strict=True)]
                told[str(connections)] = {
                    "requests_per_second": np.median([row[0] for row in found["service"]]),
                    "p99_ms": 1e3 * np.median([row[1] for row in found["service"]]),
                    "median_ms": 1e3 * np.median([row[2] for row in found["service"]]),
                    "empty_requests_per_second": np.median([row[0] for row in found["empty"]]),
                    "empty_p99_ms": 1e3 * np.median([row[1] for row in found["empty"]]),
                    "ratios": ratios,
                    "cpu_us_streams_and_http": np.median([row[3] for row in found["service"]], axis=0).tolist(),
                    "empty_cpu_us": np.median([row[3] for row in found["empty"]], axis=0).tolist(),
                }
    finally:
        empty.kill()
        empty.wait()
    return {"streams": streams, "connections": told}


def arrow(folder, seconds):
    """Arrow batches of 10,000 x 10: rows a second, as a ratio to `RegressAndReweight.step` in process."""
    import polars as pl

    rows = outputs(10_000, 1)[0]
    sink = io.BytesIO()
    pl.DataFrame({name: rows[:, c] for c, name in enumerate(NAMES)}).write_ipc_stream(sink)
    alone = RegressAndReweight().fit(HELD, HELD_Y)
    alone.step(rows)
    ratios, rates = [], []
    with ServerProcess(folder) as server:
        for name in ("s0", "s1"):  # a stream of its own for each connection: a stream's batches wait for each other
            httpx.put(f"{server.url}/v1/streams/{name}", json=definition(), timeout=60)
        kind = "application/vnd.apache.arrow.stream"
        sent = [request(f"/v1/streams/{name}/adapt", sink.getvalue(), kind) for name in ("s0", "s1")]
        load(server.port, sent, 1, 2.0)
        for connections in (1, 2) * 3:
            begun, steps = time.perf_counter(), 0
            while time.perf_counter() < begun + seconds:
                alone.step(rows)
                steps += 1
            own = steps * len(rows) / (time.perf_counter() - begun)
            rate, _ = load(server.port, sent, connections, seconds)
            rates.append((connections, rate * len(rows), own))
            ratios.append(rate * len(rows) / own)
    best = {c: max(r for r, (n, *_) in zip(ratios, rates, strict=True) if n == c) for c in (1, 2)}
    return {"rates": rates, "ratios": ratios, "best": {str(c): value for c, value in best.items()}}


def memory(folder, count, seconds, keep):
    """Memory over many batches: resident megabytes of both processes, and the size of the folder, now and then."""
    path, done = [], 0
    with ServerProcess(folder) as server:
        for i in range(8):
            httpx.put(f"{server.url}/v1/streams/s{i}", json=definition(), timeout=60)
        sent = [
            request(f"/v1/streams/s{i % 8}/adapt", json.dumps({"proba": outputs(10, i)[0].tolist()}).encode())
            for i in range(6400)
        ]
        begun = time.monotonic()
        while done < count and time.monotonic() < begun + seconds:
            rate, times = load(server.port, sent, 64, 10.0)
            done += len(times)
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20
            path.append((done, *map(resident, family(server.process.pid)), round(size, 1), round(rate)))
            keep({"batches": done, "path_batches_rss_mb_streams_http_folder_mb_rate": path})
    return {"batches": done, "path_batches_rss_mb_streams_http_folder_mb_rate": path}


def resident(pid):
    """Megabytes of a process that are in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)


def timing(folder, count=3000):
    """Wrong keys, unknown and nearly right ones: microseconds until they are refused."""
    from baserate.service.keys import create_key
    from tests.service.served import serving

    async def run():
        async with serving(folder) as client:
            _, secret = await create_key(client.app.store, "read")
            client.app.keys._read_at = -1e9
            tried = {
                "none": "",
                "wrong": "br_" + "a" * 43,
                "nearly right": secret[:-1] + ("a" if secret[-1] != "a" else "b"),
            }
            await client.app.keys.refresh()
            times = {name: [] for name in tried}
            for _ in range(count):
                for name, key in tried.items():
                    begun = time.perf_counter_ns()
                    assert client.app.keys.find(key) is None
                    times[name].append(time.perf_counter_ns() - begun)
            return {name: [float(np.median(t)) / 1e3, float(np.std(t)) / 1e3] for name, t in times.items()}

    return asyncio.run(run())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="*", default=["kills", "bodies", "timing", "speed", "arrow", "postgres", "memory"]
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--batches", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement of speed")
    parser.add_argument("--at-most", type=float, default=3_600.0, help="seconds for the many batches")
    parser.add_argument("--anew", action="store_true", help="begin the parts anew instead of going on with them")
    given = parser.parse_args()
    counted = {
        "kills": (kills, "kills", given.kills, 10),
        "postgres": (postgres, "kills", given.kills, 10),
        "bodies": (bodies, "bodies", given.bodies, 10_000),
    }
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    found["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"

    def keep(name, result):
        found[name] = result
        given.out.write_text(json.dumps(found, indent=1, default=float) + "\n")

    work = {
        "timing": timing,
        "speed": lambda folder: speed(folder, given.streams, given.seconds),
        "arrow": lambda folder: arrow(folder, given.seconds),
        "memory": lambda folder: memory(folder, given.batches, given.at_most, lambda so_far: keep("memory", so_far)),
    }
    for name in given.only:
        if given.anew:
            found.pop(name, None)
        if name not in counted:
            with tempfile.TemporaryDirectory(prefix="baserate-proof-") as folder:
                keep(name, work[name](Path(folder)))
        else:
            prove, unit, target, part = counted[name]
            while (done := found.get(name, {}).get(unit, 0)) < target:
                with tempfile.TemporaryDirectory(prefix="baserate-proof-") as folder:
                    keep(name, added(found.get(name, {}), prove(Path(folder), min(part, target - done), done)))
                print(name, found[name][unit], "of", target, flush=True)
        print(name, json.dumps(found[name], default=float), flush=True)
    return 0


def added(before, more):
    """The sum of two results."""
    names = {**before, **more}
    return {
        name: added(before.get(name, {}), more.get(name, {}))
        if isinstance(names[name], dict)
        else before.get(name, 0) + more.get(name, 0)
        for name in names
    }
