"""The snippets of docs/howto/service.md, run against a real server; those in other languages with an API key."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from ..proving.kills import CLASSES, HELD, definition
from ..proving.process import ServerProcess

pytest.importorskip("starlette")
pytestmark = pytest.mark.system

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "service.md"
ROWS, IDS = HELD[:3].tolist(), ["a", "b", "c"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    words = [sys.executable, "-m", "baserate", "serve", "keys", "create", "--scope", "admin", "--data", str(folder)]
    key = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    with ServerProcess(folder) as started:
        started.key = key
        yield started


@pytest.fixture
def stream(server):
    """A new stream, and a function that tells its rounds."""
    own = {"authorization": f"Bearer {server.key}"}
    with httpx.Client(base_url=server.url, headers=own, timeout=60) as http:
        http.delete("/v1/streams/mail")
        assert http.put("/v1/streams/mail", json=definition()).status_code == 201
        yield lambda: http.get("/v1/streams/mail").json()


def snippet(language, server):
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert "http://127.0.0.1:8787/" in found
    return found.replace("http://127.0.0.1:8787", server.url)


def run(*words, folder, **environment):
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(answer, stream):
    assert len(answer["proba"]) == len(answer["labels"])
    assert set(answer["labels"]) <= set(CLASSES)
    assert len(answer["prior"]) == len(CLASSES)
    assert stream()["rows"] == len(answer["proba"])
    assert stream()["round"] == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
def test_javascript(server, stream, tmp_path):
    given = f"const key = {json.dumps(server.key)}, proba = {json.dumps(ROWS)}, ids = {json.dumps(IDS)};\n"
    told = "\nconsole.log(JSON.stringify(answer));\n"
    program = 'import crypto from "node:crypto";\n' + given + snippet("js", server) + told
    (tmp_path / "adapt.mjs").write_text(program)
    check(json.loads(run("node", "adapt.mjs", folder=tmp_path)), stream)
    assert stream()["waiting"] == len(IDS)


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a Java compiler: apt-get install default-jdk-headless")
def test_java(server, stream, tmp_path):
    code = snippet("java", server).replace("[[0.7, 0.3]]", json.dumps(ROWS[:1]))
    program = f"""
        import java.net.URI;
        import java.net.http.*;
        import java.util.UUID;

        public class Adapt {{
            public static void main(String[] words) throws Exception {{
                String key = "{server.key}";
                {code}
                if (answer.statusCode() != 200) throw new Exception(answer.statusCode() + ": " + answer.body());
                System.out.println(answer.body());
            }}
        }}
    """
    (tmp_path / "Adapt.java").write_text(program)
    run("javac", "--release", "11", "Adapt.java", folder=tmp_path)
    check(json.loads(run("java", "Adapt", folder=tmp_path)), stream)


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go: apt-get install golang-go")
def test_go(server, stream, tmp_path):
    rows = ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in ROWS)
    program = f"""
        package main

        import ("bytes"; "encoding/json"; "fmt"; "net/http"; "os")

        func adapt(key string, proba [][]float64, ids []string, batchID string) error {{
            {snippet("go", server)}
            if err == nil {{
                told, _ := json.Marshal(map[string]any{{
                    "proba": answer.Proba, "labels": answer.Labels, "prior": answer.Prior}})
                fmt.Println(string(told))
            }}
            return err
        }}

        func main() {{
            rows := [][]float64{{{rows}}}
            if err := adapt("{server.key}", rows, []string{{"a", "b", "c"}}, "{time.time()}"); err != nil {{
                fmt.Fprintln(os.Stderr, err)
                os.Exit(1)
            }}
        }}
    """
    (tmp_path / "adapt.go").write_text(program)
    cache = {"GOCACHE": str(tmp_path / "cache"), "GOPATH": str(tmp_path / "go"), "GO111MODULE": "off"}
    check(json.loads(run("go", "run", "adapt.go", folder=tmp_path, **cache)), stream)
    assert stream()["waiting"] == len(IDS)


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """A server without keys, which answers whoever is on this machine."""
    with ServerProcess(tmp_path_factory.mktemp("open")) as started:
        yield started


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl: apt-get install curl")
def test_curl(open_server, tmp_path):
    """Every block for a shell, from top to bottom."""
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    (tmp_path / "holdout.csv").write_text("a,b,y\n" + "0.9,0.1,a\n0.2,0.8,b\n" * 30)
    answers = []
    for block in blocks:
        assert block.count("localhost:8787") == block.count("curl ") == 1
        command = block.replace("localhost:8787", open_server.url.removeprefix("http://"))
        command = command.replace("curl ", "curl --silent --show-error --fail-with-body ")
        answers.append(json.loads(run("bash", "-c", command, folder=tmp_path)))
    adapted = next(answer for answer in answers if "round" in answer and "flags" in answer)
    assert adapted["round"] == 1
    assert len(adapted["proba"]) == 2
    assert set(adapted["labels"]) <= {"ham", "spam"}
    assert any("outputs" in answer for answer in answers)


def test_python(open_server):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    code = code.replace("http://127.0.0.1:8787", open_server.url).replace(', key="br_..."', "")
    y = [0, 1] * 50
    held = [[0.9, 0.1] if label == 0 else [0.2, 0.8] for label in y]
    given = {
        "holdout_proba": held,
        "holdout_labels": ["ham" if label == 0 else "spam" for label in y],
        "proba": held[:2],
        "ids": ["m1", "m2"],
    }
    with httpx.Client(base_url=open_server.url, timeout=60) as http:
        http.delete("/v1/streams/mail")
        exec(code, given)
        assert len(given["answer"]["proba"]) == 2
        assert http.get("/v1/streams/mail").json()["rows"] == 2
        late = http.post("/v1/streams/mail/labels", json={"ids": ["m1", "m2"], "labels": ["ham", "spam"]}).json()
        assert (late["found"], late["unknown"]) == (1, 1)  # m1 has got its label in the block
