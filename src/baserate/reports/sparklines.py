"""Small lines that stand in a row of a table."""

from collections.abc import Sequence
from html import escape


def sparkline(values: Sequence[float | None], level: float, label: str) -> str:
    """A line without axes, to stand in a row of a table.

    Parameters
    ----------
    values : sequence of float or None
        The values from left to right; None where there is none.
    level : float
        The height of a dashed line across.
    label : str
        A description, for those who cannot see it.
    """
    known = [value for value in values if value is not None]
    top = 1.1 * max([*known, level, 1e-9])
    step = 100.0 / max(len(values) - 1, 1)
    points = " ".join(
        f"{i * step:.1f},{24 - 22 * value / top:.1f}" for i, value in enumerate(values) if value is not None
    )
    across = f'<path d="M0 {24 - 22 * level / top:.1f}H100" style="stroke: var(--truth); stroke-dasharray: 3 2"/>'
    drawn = "fill: none; stroke: var(--line0); stroke-width: 1.6"
    line = f'<polyline points="{points}" style="{drawn}" vector-effect="non-scaling-stroke"/>'
    return (
        f'<svg class="spark" viewBox="0 0 100 25" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{across}{line}</svg>'
    )
