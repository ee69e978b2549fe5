"""Progress of a long training: its callback, and a progress bar on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple


class Moment(NamedTuple):
    """Progress of a training: after `step` of `steps` batches of `epoch` (from 1); means over the epoch so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float | None = None
    accuracy: float | None = None


_SECONDS_BETWEEN_LINES = 30.0

Watcher = Callable[[Moment], None]
"""Callback after every batch or epoch. An exception from it ends the training, as Ctrl-C does."""


def no_watcher(moment: Moment) -> None:
    """Ignore progress."""


@contextmanager
def progress_bar(title: str) -> Iterator[Watcher]:
    """A watcher that shows loss, accuracy and time left on standard error.

    It is a bar on a terminal, and a line every half minute in a file.

    Parameters
    ----------
    title : str
        Name of the model.

    Examples
    --------
    >>> with progress_bar("digits") as watch:
    ...     watch(Moment(epoch=1, epochs=1, step=1, steps=1, loss=0.25))
    """
    from baserate.commands.progress import progress_bars

    began = printed = monotonic()
    before = 0.0  # progress at the start: training may resume from a checkpoint
    first = True
    with progress_bars() as progress:
        task, console = progress.add_task(title), progress.console

        def watch(moment: Moment) -> None:
            nonlocal before, first, printed
            done = (moment.epoch - 1 + moment.step / moment.steps) / moment.epochs
            if first:
                before, first = done - 1 / (moment.steps * moment.epochs), False
            text = f"{title}: {_describe(moment)}"
            total = moment.steps * moment.epochs
            progress.update(task, completed=done * total, total=total, description=text)
            now = monotonic()
            finished = moment.step == moment.steps and moment.epoch == moment.epochs
            if not console.is_terminal and (finished or now - printed > _SECONDS_BETWEEN_LINES):
                printed = now
                left = (now - began) * (1 - done) / (done - before)
                console.print(f"{text}, {now - began:.0f} s, {left:.0f} s left", soft_wrap=True, highlight=False)

        yield watch


def _describe(moment: Moment) -> str:
    loss = "" if moment.loss is None else f", loss {moment.loss:.4f}"
    accuracy = "" if moment.accuracy is None else f", accuracy {100 * moment.accuracy:.2f} %"
    return f"epoch {moment.epoch}/{moment.epochs}{loss}{accuracy}"
