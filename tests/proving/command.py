"""All proofs with their full counts: ``python tools/service_proof.py --out FILE``."""

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


def kills(folder, count):
    """SQLite, killed again and again under load."""
    with ServerProcess(folder, "--snapshot-entries", "200") as server:
        begun = time.monotonic()
        found, counted = killed(server, count)
        return {"kills": count, "batches": counted, "retries": found.retried, "seconds": time.monotonic() - begun}


def postgres(folder, count):
    """Two servers on PostgreSQL: one or the other killed again and again, the database restarted three times."""
    database = Postgres().create()
    try:
        options = ("--store", database.url, "--snapshot-entries", "100")
        with ServerProcess(folder / "one", *options) as one, ServerProcess(folder / "two", *options) as two:
            found, counted = replicas_killed([one, two], database, count, restarts=3)
        return {"kills": count, "restarts": 3, "batches": counted, "retries": found.retried}
    finally:
        database.remove()


def bodies(folder, count):
    """Malformed bodies: 4xx with a message, and the state as it was."""
    from tests.service.malformed import malformed
    from tests.service.served import made, serving, state_of

    async def run():
        statuses, rng = {}, np.random.default_rng(0)
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
                request(f"/v1/streams/s{i}/adapt", json.dumps({"proba": outputs(10, i)[0].tolist()}).encode())
                for i in range(streams)
            ]
            for connections in (1, 64):
                found = {"service": [], "empty": []}
                for _ in range(3):
                    for name, place in (("empty", port), ("service", server.port)):
                        process = empty if name == "empty" else server.process
                        before = cpu(process.pid)
                        rate, times = load(place, sent, connections, seconds)
                        spent = (cpu(process.pid) - before) / len(times)
                        found[name].append((rate, float(np.quantile(times, 0.99)), float(np.median(times)), spent))
                ratios = [s[0] / e[0] for s, e in zip(found["service"], found["empty"], strict=True)]
                told[str(connections)] = {
                    "requests_per_second": np.median([row[0] for row in found["service"]]),
                    "p99_ms": 1e3 * np.median([row[1] for row in found["service"]]),
                    "median_ms": 1e3 * np.median([row[2] for row in found["service"]]),
                    "empty_requests_per_second": np.median([row[0] for row in found["empty"]]),
                    "empty_p99_ms": 1e3 * np.median([row[1] for row in found["empty"]]),
                    "ratios": ratios,
                    "cpu_us": 1e6 * np.median([row[3] for row in found["service"]]),
                    "empty_cpu_us": 1e6 * np.median([row[3] for row in found["empty"]]),
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
        httpx.put(f"{server.url}/v1/streams/s", json=definition(), timeout=60)
        sent = [request("/v1/streams/s/adapt", sink.getvalue(), "application/vnd.apache.arrow.stream")]
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


def memory(folder, count, seconds):
    """Memory over many batches: resident megabytes, and the size of the folder, now and then."""
    path, done = [], 0
    with ServerProcess(folder) as server:
        for i in range(8):
            httpx.put(f"{server.url}/v1/streams/s{i}", json=definition(), timeout=60)
        sent = [
            request(f"/v1/streams/s{i % 8}/adapt", json.dumps({"proba": outputs(10, i)[0].tolist()}).encode())
            for i in range(64)
        ]
        begun = time.monotonic()
        while done < count and time.monotonic() < begun + seconds:
            rate, times = load(server.port, sent, 64, 10.0)
            done += len(times)
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20
            path.append((done, round(resident, 1), round(size, 1), round(rate)))
    return {"batches": done, "path_batches_rss_mb_folder_mb_rate": path}


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
    given = parser.parse_args()
    work = {
        "kills": lambda folder: kills(folder, given.kills),
        "postgres": lambda folder: postgres(folder, given.kills),
        "bodies": lambda folder: bodies(folder, given.bodies),
        "timing": timing,
        "speed": lambda folder: speed(folder, given.streams, given.seconds),
        "arrow": lambda folder: arrow(folder, given.seconds),
        "memory": lambda folder: memory(folder, given.batches, given.at_most),
    }
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    found["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    for name in given.only:
        with tempfile.TemporaryDirectory(prefix="baserate-proof-") as folder:
            found[name] = work[name](Path(folder))
        print(name, json.dumps(found[name], default=float))
        given.out.write_text(json.dumps(found, indent=1, default=float) + "\n")
    return 0
