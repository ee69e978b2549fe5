"""The order in which a pipeline hands pieces on, and what it does when a stage fails."""

import threading

import pytest

from baserate.files.adapting.pipeline import Pipeline

MAIN = threading.main_thread().name


class Stages:
    """Stages that note what happens, with numbers for pieces."""

    def __init__(self, n=20, fails=None):
        self.n, self.fails = n, fails
        self.events, self.threads = [], {}
        self.stepped = 0

    def _note(self, stage, piece):
        if self.fails == (stage, piece):
            raise OSError(f"{stage} {piece}")
        self.events.append((stage, piece))
        self.threads.setdefault(stage, set()).add(threading.current_thread().name)

    def pieces(self):
        for piece in range(self.n):
            self._note("read", piece)
            yield piece

    def step(self, piece):
        self._note("step", piece)
        self.stepped = piece
        return piece

    def write(self, piece):
        self._note("write", piece)

    def should_save(self, last):
        if self.stepped % 5 < 4:
            return False
        last.result()
        return True

    def snapshot(self):
        self._note("snapshot", self.stepped)
        return self.stepped

    def save(self, piece):
        self._note("save", piece)

    def settle(self):
        self._note("settle", self.stepped)

    def of(self, stage):
        return [piece for found, piece in self.events if found == stage]


@pytest.mark.parametrize("read_ahead", [False, True])
def test_every_piece_passes_every_stage_in_order(read_ahead):
    stages = Stages()
    Pipeline(stages, read_ahead=read_ahead).run()
    for stage in ("read", "step", "write"):
        assert stages.of(stage) == list(range(20))
    assert stages.of("snapshot") == stages.of("save") == [4, 9, 14, 19]
    assert stages.of("settle")
    for piece in range(20):
        at = [stages.events.index((stage, piece)) for stage in ("read", "step", "write")]
        assert at == sorted(at)
    assert stages.threads["step"] == stages.threads["snapshot"] == {MAIN}
    assert (stages.threads["read"] == {MAIN}) == (not read_ahead)
    assert stages.threads["write"] == stages.threads["save"] != {MAIN}
    assert not stages.threads["settle"] & (stages.threads["write"] | {MAIN})


def test_a_state_is_saved_between_the_piece_that_it_counts_and_the_next():
    stages = Stages()
    Pipeline(stages, read_ahead=True).run()
    outside = [event for event in stages.events if event[0] in ("write", "save")]
    for piece in (4, 9, 14):
        at = outside.index(("save", piece))
        assert outside[at - 1] == ("write", piece)
        assert outside[at + 1] == ("write", piece + 1)


@pytest.mark.parametrize(
    ("stage", "written", "saved"),
    [("read", 7, [4]), ("step", 7, [4]), ("write", 7, [4]), ("snapshot", 10, [4]), ("save", 15, [4])],
)
def test_what_fails_is_raised_and_nothing_follows_it(stage, written, saved):
    stages = Stages(fails=(stage, 9 if stage in ("snapshot", "save") else 7))
    with pytest.raises(OSError, match=stage):
        Pipeline(stages, read_ahead=True).run()
    assert stages.of("save")[:1] == saved
    if stage == "save":
        assert 10 <= len(stages.of("write")) <= written
    else:
        assert stages.of("write") == list(range(written))


def test_at_most_two_pieces_wait_to_be_written():
    hold, ahead = threading.Event(), []

    class Slow(Stages):
        def write(self, piece):
            hold.wait()
            super().write(piece)

        def step(self, piece):
            ahead.append(piece - len(self.of("write")))
            if piece == 2:
                hold.set()
            return super().step(piece)

    Pipeline(Slow(), read_ahead=True).run()
    assert max(ahead) <= 3
