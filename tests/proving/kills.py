"""Servers killed under load: every acknowledged batch is there exactly once, equal to the last bit to one process."""

import asyncio
import random
import time

import httpx
import numpy as np

from baserate import RegressAndReweight

K, ROWS = 3, 10
CLASSES = [f"c{c}" for c in range(K)]


def outputs(n, seed, share=None):
    rng = np.random.default_rng(seed)
    y = rng.choice(K, size=n, p=share)
    odds = np.exp(rng.normal(2.5 * np.eye(K)[y], 1.0))
    return odds / odds.sum(axis=1, keepdims=True), y


HELD, HELD_Y = outputs(300, 0)


def definition():
    return {"classes": CLASSES, "holdout": {"proba": HELD.tolist(), "labels": [CLASSES[c] for c in HELD_Y]}}


class Load:
    """Clients that send batches to streams, each batch until it is answered, and remember every answer.

    Parameters
    ----------
    urls : list of str
        The servers; a client that finds one gone goes on with the next.
    streams, clients : int
        How many streams, and clients of each.
    seed : int
    """

    def __init__(self, urls, streams=3, clients=3, seed=0):
        self.urls = urls
        self.names = [f"s{i}" for i in range(streams)]
        self.answers = {name: {} for name in self.names}
        self.sent = {name: {} for name in self.names}
        self.retried = 0
        self._clients, self._seed, self._ending = clients, seed, False

    async def run(self, work):
        """Send batches while some work is done, and finish those that are under way."""
        async with httpx.AsyncClient(timeout=20.0) as http:
            for name in self.names:
                await self._until(http, "PUT", f"/v1/streams/{name}", definition(), 0)
            tasks = [
                asyncio.create_task(self._client(http, name, number))
                for name in self.names
                for number in range(self._clients)
            ]
            try:
                await work()
            finally:
                self._ending = True
                await asyncio.gather(*tasks)
            self.final = {
                name: [
                    (await self._until(http, "GET", f"/v1/streams/{name}", None, place)).json()
                    for place in range(len(self.urls))
                ]
                for name in self.names
            }

    async def _client(self, http, name, number):
        count = 0
        while not self._ending:
            seed = hash((self._seed, name, number, count)) % 2**32
            proba, y = outputs(ROWS, seed, [0.7, 0.2, 0.1])
            labels = [CLASSES[c] if i % 4 == 0 else None for i, c in enumerate(y)]
            batch_id = f"{number}-{count}"
            body = {"proba": proba.tolist(), "labels": labels, "batch_id": batch_id}
            self.sent[name][batch_id] = proba, np.where(np.arange(ROWS) % 4 == 0, y, -1)
            answer = await self._until(http, "POST", f"/v1/streams/{name}/adapt", body, number)
            self.answers[name][batch_id] = answer.json()
            count += 1

    async def _until(self, http, method, path, body, place):
        """Ask until there is an answer, of whichever server there is."""
        until = time.monotonic() + 180.0
        while time.monotonic() < until:
            url = self.urls[place % len(self.urls)]
            try:
                answer = await http.request(method, url + path, json=body)
                if answer.status_code < 300:
                    return answer
                assert answer.status_code == 503, answer.text
            except httpx.TransportError:
                pass
            self.retried += 1
            place += 1
            await asyncio.sleep(0.05)
        raise AssertionError(f"no answer to {method} {path}")

    def verify(self):
        """Compare every answer, and the states at the end, with one process that had the batches in that order."""
        counted = 0
        for name in self.names:
            answers = self.answers[name]
            order = sorted(answers, key=lambda batch_id: answers[batch_id]["round"])
            rounds = [answers[batch_id]["round"] for batch_id in order]
            assert rounds == list(range(1, len(order) + 1)), f"{name}: rounds are missing or double"
            assert set(answers) == set(self.sent[name])
            alone = RegressAndReweight().fit(HELD, HELD_Y)
            for batch_id in order:
                step = alone.step(*self.sent[name][batch_id])
                np.testing.assert_array_equal(answers[batch_id]["proba"], step.proba)
                np.testing.assert_array_equal(answers[batch_id]["prior"], step.prior)
            for final in self.final[name]:
                assert final["round"] == len(order)
                assert final["rows"] == ROWS * len(order)
                np.testing.assert_array_equal(final["prior"], alone.prior_)
                np.testing.assert_array_equal(final["bands"], np.clip(alone.prior_interval(), 0.0, 1.0))
            counted += len(order)
        return counted


def killed(server, kills, seed=0, least=0.05, most=1.0):
    """Kill a server again and again under load; return the load, verified, and how many batches it had."""
    rng, load = random.Random(seed), Load([server.url], seed=seed)

    async def work():
        for _ in range(kills):
            await asyncio.sleep(rng.uniform(least, most))
            server.kill()
            await asyncio.to_thread(server.start)
        await asyncio.sleep(0.3)

    asyncio.run(load.run(work))
    return load, load.verify()


def replicas_killed(servers, database, kills, seed=0, restarts=1):
    """Kill one of two servers that share a database again and again, and restart the database, under load."""
    rng, load = random.Random(seed), Load([server.url for server in servers], clients=4, seed=seed)

    async def work():
        for number in range(kills):
            await asyncio.sleep(rng.uniform(0.05, 1.0))
            server = servers[number % len(servers)]
            server.kill()
            await asyncio.to_thread(server.start)
        for _ in range(restarts):
            await asyncio.sleep(rng.uniform(0.05, 1.0))
            await asyncio.to_thread(database.stop)
            await asyncio.to_thread(database.start)
        await asyncio.sleep(0.5)

    asyncio.run(load.run(work))
    return load, load.verify()
