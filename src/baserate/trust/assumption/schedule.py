"""When to look at a stream, and how much of the error probability each look may spend.

A look at the whole stream comes each time it has grown by two fifths. Windows that start anew see what has changed
late, which the whole stream would take long to notice; they are looked at each time they have doubled. Directions are
learned in blocks that start anew as well. All that is spent, over an endless stream, sums to one.
"""

WINDOWS = (0, 1024, 4096, 16384)
"""Samples after which a window starts anew; 0 for the whole stream."""
BLOCK = 8192
"""Samples after which bets on directions start anew."""
_FIRST = 96  # samples at the first look at the whole stream
_FIRST_OF_WINDOW = 128
_GROWTH = 1.4
_FIRST_DIRECTION = 256  # samples
_DIRECTIONS = 1.0 / 3.0  # of the error probability
_WHOLE = 0.5  # of what remains; the windows share the rest


def due(window: int, look: int) -> float:
    """Samples of a window at which a look is due, of those numbered from 0."""
    return _FIRST * _GROWTH**look if window == 0 else float(_FIRST_OF_WINDOW * 2**look)


def looks_in(window: int) -> int:
    """How many looks a window may have: those that are due in it, and one by the batch that goes beyond its end."""
    look = 0
    while due(window, look) <= WINDOWS[window]:
        look += 1
    return look + 1


_LOOKS = [looks_in(window) for window in range(len(WINDOWS))]


def spent(window: int, turn: int, look: int) -> float:
    """What may be spent on a look: in which of `WINDOWS`, how often that has started anew, and which look it is.

    The first turn of a window sees what the whole stream sees, and is not looked at.
    """
    if window == 0:
        return (1.0 - _DIRECTIONS) * _WHOLE * 3.0 / ((look + 3.0) * (look + 4.0))
    if turn == 0:
        return 0.0
    share = (1.0 - _DIRECTIONS) * (1.0 - _WHOLE) / (len(WINDOWS) - 1)
    return share / (turn * (turn + 1.0)) / _LOOKS[window]


def renewal_due(renewal: int) -> float:
    """Samples of a block at which the bet is looked at, and renewed; the last time at the block's end."""
    return min(_FIRST_DIRECTION * _GROWTH**renewal, float(BLOCK))


def renewals() -> int:
    """How often in a block."""
    renewal = 0
    while renewal_due(renewal) < BLOCK:
        renewal += 1
    return renewal + 1


_RENEWALS = renewals()


def spent_on_direction(block: int) -> float:
    """What may be spent on one look at the bets of a block, of those numbered from 0."""
    return _DIRECTIONS / ((block + 1.0) * (block + 2.0)) / _RENEWALS
