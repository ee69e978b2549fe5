"""The bench: experiments over shifts and methods, their tables and figures, and an HTML report.

`baserate.bench.figures` and `baserate.bench.report` need matplotlib and are imported by those who draw.
"""

from baserate.bench.demo import Cell, Demo, Problem, conclusion, prepare, rows, run

__all__ = ["Cell", "Demo", "Problem", "conclusion", "prepare", "rows", "run"]
