"""Frames between two processes: whole, in order, whatever their size; problems arrive as what they were."""

import asyncio
import socket

import pytest

from baserate.service import problems
from baserate.service.link import Calls, Link, heard_problem, told_problem
from tests.service.served import in_loop


async def linked():
    loop, heard, lost = asyncio.get_running_loop(), [], asyncio.Event()
    ends = []
    for end, hear in zip(socket.socketpair(), (heard.append, lambda frame: None), strict=True):
        link = Link(hear, lost.set)
        await loop.create_connection(lambda link=link: link, sock=end)
        ends.append(link)
    return *ends, heard, lost


@in_loop
async def test_frames_arrive_whole_and_in_order():
    near, far, heard, lost = await linked()
    sent = [["take", i, b"x" * size, 0.1 + i] for i, size in enumerate([0, 1, 70_000, 3, 3_000_000, 5])]
    for frame in sent:
        far.say(*frame)
    far.close()
    await asyncio.wait_for(lost.wait(), 5)
    while len(heard) < len(sent):
        await asyncio.sleep(0.01)
    assert heard == sent
    near.close()


@in_loop
async def test_frames_may_arrive_in_any_pieces():
    near, far, heard, _ = await linked()
    written = []
    far._transport.close()
    far._transport = type("Kept", (), {"write": staticmethod(written.append)})
    far.say("a", 1, b"hello")
    far.say("b", 2, 0.5)
    far._flush()
    (data,) = written
    for i in range(len(data)):
        near.data_received(data[i : i + 1])
    assert heard == [["a", 1, b"hello"], ["b", 2, 0.5]]


@in_loop
async def test_an_answer_finds_its_question():
    calls = Calls()
    one, first = calls.begin()
    two, second = calls.begin()
    calls.answer(two, "second")
    calls.refuse(one, problems.NotKnownError("no"))
    calls.answer(77, "nobody asked")
    assert await second == "second"
    with pytest.raises(problems.NotKnownError, match="no"):
        await first


@pytest.mark.parametrize("kind", [problems.ConflictError, problems.RenewedError, problems.InvalidError])
def test_problems_arrive_as_what_they_were(kind):
    found = heard_problem(*told_problem(kind("it is so", "proba")))
    assert type(found) is kind
    assert (str(found), found.field, found.status) == ("it is so", "proba", kind.status)
