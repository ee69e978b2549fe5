"""Results of the benchmark of efficiency, made up: a run in which all is well."""

import numpy as np

from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ML, ORACLE
from baserate_lab.bench.efficiency.one_batch import MAP
from baserate_lab.bench.efficiency.page import SECTIONS

GOOD = {DEFAULT: 1.2, "default, gate=False": 1.2, LIGHT: 6.0, ML: 1.0, MAP: 1.2, ORACLE: 0.9, ALONE: 9.0}
"""The size of whatever is better if small; all others have 3."""


def well(change=lambda section, cell, field, value: value, n_seeds=3):
    """Results of every section, with noise that a seed has in common for all methods."""
    kept = {}
    for name, section in SECTIONS.items():
        kept[name] = {}
        for cell in section.cells(n_seeds):
            noise = 1 + 0.01 * np.random.default_rng([cell.seed, cell.n]).standard_normal()
            size = GOOD.get(cell.method, 3.0)
            values = {}
            for field in section.result._fields:
                good = 1 - 0.01 * size if field in ("accuracy", "largest") else size
                values[field] = change(name, cell, field, good * noise)
            kept[name][cell] = section.result(**values)
    return kept


def broken(bars):
    assert all(bar.holds is not None for part in bars.values() for bar in part)
    return [bar.text for part in bars.values() for bar in part if not bar.holds]


def only(section, method, field, factor, where=lambda cell: True):
    """A change of one number of one method."""

    def change(name, cell, of, value):
        hit = name == section and cell.method == method and of == field and where(cell)
        return value * factor if hit else value

    return change
