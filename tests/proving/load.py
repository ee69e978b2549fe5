"""Load from another process: requests a second and latencies, by sockets and nothing else."""

import asyncio
import time

import numpy as np


def request(path, body, kind="application/json"):
    """The bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _connection(port, requests, until, times):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    place = 0
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(requests[place % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head + await reader.read(500)
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - begun)
        place += 1
    writer.close()


def load(port, requests, connections, seconds):
    """Send requests over and over; return how many a second were answered, and the times that they took."""

    async def run():
        times, begun = [], time.perf_counter()
        await asyncio.gather(
            *[
                _connection(port, requests[i::connections] or requests, begun + seconds, times)
                for i in range(connections)
            ]
        )
        return len(times) / (time.perf_counter() - begun), np.array(times)

    import uvloop

    return uvloop.run(run())
