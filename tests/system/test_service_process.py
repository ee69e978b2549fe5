"""A real server: killed and restarted, ended in an orderly way, traced to the disk."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from ..proving.command import family
from ..proving.kills import HELD, definition, killed
from ..proving.process import ServerProcess, free_port
from ..service.malformed import malformed
from ..service.served import body as served_body

pytest.importorskip("starlette")
pytestmark = pytest.mark.system


def test_killed_under_load_every_acknowledged_batch_is_there_exactly_once(tmp_path):
    with ServerProcess(tmp_path, "--snapshot-entries", "60") as server:
        load, counted = killed(server, kills=4)
        assert counted > 100
        assert load.retried > 0
        assert server.stop() == 0
    checked = subprocess.run(
        [sys.executable, "-m", "baserate", "serve", "--check", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert checked.stdout == "3 streams, all of them whole.\n"


def test_sigterm_finishes_what_is_under_way(tmp_path):
    with ServerProcess(tmp_path) as server:
        httpx.put(f"{server.url}/v1/streams/a", json=definition(), timeout=30)
        rounds, refused = [], []

        def send():
            with httpx.Client(timeout=30) as http:
                while True:
                    try:
                        answer = http.post(f"{server.url}/v1/streams/a/adapt", json={"proba": HELD[:10].tolist()})
                    except httpx.TransportError:
                        return
                    (rounds if answer.status_code == 200 else refused).append(answer)

        with httpx.Client(timeout=30).stream(
            "GET", f"{server.url}/v1/events"
        ):  # somebody who listens does not hold it up
            clients = [threading.Thread(target=send) for _ in range(8)]
            for client in clients:
                client.start()
            time.sleep(0.5)
            begun = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - begun < 15
        for client in clients:
            client.join(30)
        assert {answer.status_code for answer in refused} <= {503}
        acknowledged = len(rounds)
        assert acknowledged > 10
        lines = [json.loads(line) for line in server.log().splitlines()]
        assert [line["message"] for line in lines][-2:] == ["ending", "ended"]
    with ServerProcess(tmp_path, port=server.port) as server:
        assert httpx.get(f"{server.url}/v1/streams/a").json()["round"] == acknowledged


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
def test_an_answer_comes_after_an_fsync(tmp_path):
    trace = tmp_path / "trace"
    before = ["strace", "-D", "-f", "-e", "trace=fdatasync,fsync", "-o", str(trace), "--"]
    with ServerProcess(tmp_path / "data", before=before) as server:
        httpx.put(f"{server.url}/v1/streams/a", json=definition(), timeout=60)
        begun = len(re.findall(r"f(?:data)?sync\(\d+\)", trace.read_text()))
        for i in range(20):
            answer = httpx.post(f"{server.url}/v1/streams/a/adapt", json={"proba": HELD[:10].tolist()})
            assert answer.status_code == 200
            now = len(re.findall(r"fdatasync\(\d+\)\s+= 0|fdatasync resumed>\)\s+= 0", trace.read_text()))
            assert now >= begun + i + 1


def test_another_address_needs_keys(tmp_path):
    words = [sys.executable, "-m", "baserate", "serve", "--data", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "keys create" in refused.stderr


def test_keys_are_made_and_revoked_beside_a_running_server(tmp_path):
    def keys(*words):
        words = [sys.executable, "-m", "baserate", "serve", "keys", *words, "--data", str(tmp_path)]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    with ServerProcess(tmp_path) as server:
        assert httpx.get(f"{server.url}/v1/streams").status_code == 200
        secret = keys("create", "--scope", "read", "--name", "me")
        time.sleep(1.1)
        own = {"authorization": f"Bearer {secret}"}
        assert httpx.get(f"{server.url}/v1/streams").status_code == 401
        assert httpx.get(f"{server.url}/v1/streams", headers=own).status_code == 200
        assert keys("list").startswith("me\tread\t")
        keys("revoke", "me")
        time.sleep(1.1)
        assert httpx.get(f"{server.url}/v1/streams").status_code == 401  # to revoke the last key opens nothing
        assert httpx.get(f"{server.url}/v1/streams", headers=own).status_code == 401


def test_the_demo_moves_within_seconds(tmp_path):
    with ServerProcess(tmp_path, "--demo") as server:
        until, streams = time.monotonic() + 60, []
        while time.monotonic() < until and not any(_moved(stream) > 0.05 for stream in streams):
            streams = httpx.get(f"{server.url}/v1/streams").json()["streams"]
            time.sleep(0.2)
        assert len(streams) == 3
        assert max(map(_moved, streams)) > 0.05


def _moved(stream):
    return np.abs(np.array(stream["prior"]) - stream["source_prior"]).max()


def test_malformed_bodies_are_refused_by_the_process_that_reads_them(tmp_path):
    rng, refused = np.random.default_rng(7), 0
    with ServerProcess(tmp_path) as server, httpx.Client(base_url=server.url, timeout=30) as http:
        assert http.put("/v1/streams/mail", json=served_body()).status_code == 201
        before = http.get("/v1/streams/mail").json()
        for _ in range(400):
            method, path, kind, data, harmless = malformed(rng)
            answer = http.request(method, path, content=data, headers={"content-type": kind})
            assert answer.status_code < 500, (data, answer.text)
            if harmless and answer.status_code == 200:
                before = http.get("/v1/streams/mail").json()
            else:
                assert answer.status_code >= 400
                assert answer.json()["error"]
                refused += 1
        assert http.get("/v1/streams/mail").json() == before
        assert refused > 300


def test_if_one_process_is_killed_the_other_ends(tmp_path):
    for number in (0, 1):
        with ServerProcess(tmp_path / str(number)) as server:
            both = family(server.process.pid)
            assert len(both) == 2
            os.kill(both[number], signal.SIGKILL)
            assert server.process.wait(30) in (-signal.SIGKILL, 2)
            until = time.monotonic() + 10
            while Path(f"/proc/{both[1]}").exists() and time.monotonic() < until:
                time.sleep(0.05)
            assert not Path(f"/proc/{both[1]}").exists()


def test_modules_are_not_looked_for_in_the_working_folder(tmp_path):
    (tmp_path / "uvicorn.py").write_text("raise SystemExit('the wrong one')")
    port = free_port()
    words = [sys.executable, "-P", "-m", "baserate", "serve", "--data", str(tmp_path / "data"), "--port", str(port)]
    with subprocess.Popen(words, cwd=tmp_path) as process:
        until, ready = time.monotonic() + 60, False
        while not ready and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
            with contextlib.suppress(httpx.TransportError):
                ready = httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
        process.terminate()
        assert ready
        assert process.wait(30) == 0


def test_batches_are_read_with_the_classes_that_a_stream_has_now(tmp_path):
    rng, k = np.random.default_rng(3), 3
    with ServerProcess(tmp_path) as server, httpx.Client(base_url=server.url, timeout=30) as http:
        assert http.put("/v1/streams/a", json=definition()).status_code == 201
        assert http.post("/v1/streams/a/adapt", json={"proba": np.full((5, k), 1 / k).tolist()}).status_code == 200
        y = np.arange(400) % (k + 1)
        held = rng.dirichlet(np.ones(k + 1), 400) * 0.5 + 0.5 * np.eye(k + 1)[y]
        more = {"classes": [f"c{c}" for c in range(k + 1)], "holdout": {"proba": held.tolist(), "labels": []}}
        more["holdout"]["labels"] = [f"c{c}" for c in y]
        assert http.put("/v1/streams/a", params={"refit": "true"}, json=more).status_code == 200
        batch = {"proba": held[:5].tolist(), "labels": ["c3", None, None, None, None]}
        assert http.post("/v1/streams/a/adapt", json=batch).status_code == 200
        flat = {"name": "proba", "datatype": "FP64", "shape": [5, k], "data": np.full((5, k), 1 / k).tolist()}
        assert http.post("/v2/models/a/infer", json={"inputs": [flat]}).status_code == 422
        http.delete("/v1/streams/a")
        assert http.put("/v1/streams/a", json=definition()).status_code == 201
        assert http.post("/v2/models/a/infer", json={"inputs": [flat]}).status_code == 200


def test_one_process_does_both(tmp_path):
    with ServerProcess(tmp_path, "--processes", "1") as server:
        assert family(server.process.pid) == [server.process.pid]
        assert httpx.put(f"{server.url}/v1/streams/a", json=definition(), timeout=30).status_code == 201
        answer = httpx.post(f"{server.url}/v1/streams/a/adapt", json={"proba": HELD[:10].tolist()})
        assert answer.json()["round"] == 1
        assert "baserate_rows_total" in httpx.get(f"{server.url}/metrics").text
        assert server.stop() == 0


def test_what_is_no_batch_goes_through_both_processes(tmp_path):
    with ServerProcess(tmp_path) as server, httpx.Client(base_url=server.url, timeout=30) as http:
        assert http.put("/v1/streams/a", json=definition()).status_code == 201
        assert http.post(
            "/v1/streams/a/adapt", json={"proba": HELD[:10].tolist(), "ids": list("abcdefghij")}
        ).is_success
        told = http.post("/v1/streams/a/labels", json={"ids": ["a", "z"], "labels": ["c0", None]}).json()
        assert (told["found"], told["waiting"]) == (1, 9)
        assert http.put("/v1/streams/a/adapt").status_code == 405
        assert http.get("/v1/streams/b").status_code == 404
        assert http.get("/").headers["content-security-policy"].startswith("default-src 'none'")
        assert http.get("/healthz", headers={"host": "evil.example"}).status_code == 403
        text = http.get("/metrics").text
        assert 'baserate_requests_total{route="/v1/streams/{name}/adapt",status="200"} 1.0' in text
        with http.stream("GET", "/v1/streams/a/events") as events:
            lines = events.iter_lines()
            assert next(lines) == "retry: 2000"
            http.patch("/v1/streams/a", json={"shadow": True})
            assert any("shadow mode on" in line for line in lines)
        assert http.delete("/v1/streams/a").status_code == 204
        gone = http.post("/v1/streams/a/adapt", json={"proba": HELD[:10].tolist()})  # its definition was remembered
        assert gone.status_code == 404
        held = definition()["holdout"]
        turned = {"proba": HELD[:, ::-1].tolist(), "labels": held["labels"]}
        renewed = http.put("/v1/streams/a", json={"classes": ["c2", "c1", "c0"], "holdout": turned})
        assert renewed.status_code == 201
        labels = http.post("/v1/streams/a/adapt", json={"proba": [[1.0, 0.0, 0.0]]}).json()["labels"]
        assert labels == ["c2"]
