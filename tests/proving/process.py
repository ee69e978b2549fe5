"""A server in a process of its own, which can be killed and started again at the same address."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class ServerProcess:
    """``baserate serve`` on a folder.

    Parameters
    ----------
    folder : path
    *options : str
        More words of the command line.
    before : sequence of str
        Words before it, such as a tracer's.
    """

    def __init__(self, folder, *options, before=(), port=None):
        self.folder, self.port = Path(folder), port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        words = [sys.executable, "-m", "baserate", "serve", "--data", str(folder), "--port", str(self.port), *options]
        self._words = [*before, *words]
        self.process = None

    def start(self, seconds=120.0):
        """Start it, and return when it is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log.jsonl").open("ab") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=log, env=dict(os.environ))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.process.poll() is None, self.log()
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5.0).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not ready after {seconds} seconds: {self.log()}")

    def kill(self):
        """End it as a power cut would, as far as the process is concerned."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=40.0):
        """End it as systemd would, and return its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def log(self):
        """Return its log."""
        return (self.folder / "log.jsonl").read_text()

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()
