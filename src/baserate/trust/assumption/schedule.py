"""Schedule of interim tests (looks), and the share of the error probability that each may spend.

The whole stream is tested each time it has grown by two fifths. Windows that start anew detect late changes, which the
whole stream would take long to show; they are tested each time they have doubled. Directions are learned in blocks that
start anew as well. All shares, over an endless stream, sum to one.
"""

WINDOWS = (0, 1024, 4096, 16384)
"""Number of samples after which a window starts anew; 0 for the whole stream."""
BLOCK = 8192
"""Number of samples after which bets on directions start anew."""
_FIRST = 96  # samples at the first look at the whole stream
_FIRST_OF_WINDOW = 128
_GROWTH = 1.4
_FIRST_DIRECTION = 256  # samples
_DIRECTIONS = 1.0 / 3.0  # share of the error probability for directions
_WHOLE = 0.5  # share of the rest for the whole stream; the windows divide what is left


def due(window: int, look: int) -> float:
    """Return the number of samples of a window at which a look is due; looks are numbered from 0."""
    return _FIRST * _GROWTH**look if window == 0 else float(_FIRST_OF_WINDOW * 2**look)


def looks_in(window: int) -> int:
    """Return the largest number of looks in a window: those due in it, and one for a batch that exceeds its end."""
    look = 0
    while due(window, look) <= WINDOWS[window]:
        look += 1
    return look + 1


_LOOKS = [looks_in(window) for window in range(len(WINDOWS))]


def spent(window: int, turn: int, look: int) -> float:
    """Return the share for a look: by index of the window, number of its restarts, and number of the look.

    In its first turn, a window holds the same samples as the whole stream, and is not tested.
    """
    if window == 0:
        return (1.0 - _DIRECTIONS) * _WHOLE * 3.0 / ((look + 3.0) * (look + 4.0))
    if turn == 0:
        return 0.0
    share = (1.0 - _DIRECTIONS) * (1.0 - _WHOLE) / (len(WINDOWS) - 1)
    return share / (turn * (turn + 1.0)) / _LOOKS[window]


def renewal_due(renewal: int) -> float:
    """Return the number of samples of a block at which the bet is tested and renewed, at the latest at its end."""
    return min(_FIRST_DIRECTION * _GROWTH**renewal, float(BLOCK))


def renewals() -> int:
    """Return the number of renewals in a block."""
    renewal = 0
    while renewal_due(renewal) < BLOCK:
        renewal += 1
    return renewal + 1


_RENEWALS = renewals()


def spent_on_direction(block: int) -> float:
    """Return the share for one look at the bets of a block; blocks are numbered from 0."""
    return _DIRECTIONS / ((block + 1.0) * (block + 2.0)) / _RENEWALS
