"""The process that speaks HTTP: it ends with the other one, whatever is under way."""

import contextlib
import socket
import subprocess
import sys
import time

import msgspec
import pytest

from baserate.service.front import Briefing
from baserate.service.settings import Settings
from baserate.service.sockets import bind


@contextlib.contextmanager
def begun(bound):
    """A front that listens on a socket, and our end of its link."""
    ours, theirs = socket.socketpair()
    told = msgspec.json.encode(Briefing(Settings(), (), "info")).decode()
    words = [sys.executable, "-m", "baserate.service.front", str(theirs.fileno()), str(bound.fileno()), told]
    numbers = (theirs.fileno(), bound.fileno())
    with ours, subprocess.Popen(words, pass_fds=numbers, stderr=subprocess.PIPE, text=True) as front:
        theirs.close()
        try:
            say(ours, "go", 0)
            yield front, ours
        finally:
            front.kill()


def say(link, *frame):
    data = msgspec.msgpack.encode(frame)
    link.sendall(len(data).to_bytes(4, "little") + data)


def test_an_address_is_had_once():
    with bind("127.0.0.1", 0) as one, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", one.getsockname()[1])


@pytest.mark.parametrize("ending", [False, True])
def test_it_ends_at_once_when_the_other_process_is_killed(ending):
    with bind("127.0.0.1", 0) as bound, begun(bound) as (front, link):
        client = socket.create_connection(bound.getsockname())
        with client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert link.recv(4)  # a question, which nobody answers
            if ending:
                say(link, "end", 0)
                time.sleep(0.5)
            assert front.poll() is None
            link.close()
            assert front.wait(5) == 1
