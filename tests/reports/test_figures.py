"""Figures stay small, and say what they need."""

import importlib
import sys

import numpy as np
import pytest

from baserate.reports import figures


def test_long_runs_do_not_make_it_heavy(page):
    steps = np.random.default_rng(0).random(100_000)
    lines = {f"method {i}": steps + i / 100 for i in range(12)}
    styles = figures.line_styles(list(lines))
    assert len(set(styles.values())) == 12
    # Four shifts with two such figures must stay below 3 MB.
    assert len(figures.mix_figure(steps, lines, styles, label="", name="a")) < 350_000
    assert len(figures.saved_figure(lines, styles, label="", name="b")) < 350_000


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "baserate.reports.figures")
    with pytest.raises(ModuleNotFoundError, match=r'pip install "baserate\[plot\]"'):
        importlib.import_module("baserate.reports.figures")


def test_charts_above_each_other_are_one_figure_with_every_title():
    line = {"a": figures.Line([1.0, 2.0], [0.0, 1.0])}
    charts = [figures.Chart("upper", "", line), figures.Chart("lower", "round", line)]
    styles = figures.line_styles(["a"])
    svg = figures.charts_svg(charts, styles, label="both", name="n", heights=(1.0, 2.0))
    assert svg.count("<svg ") == 1
    assert svg.index("upper") < svg.index("lower")
    assert 'viewBox="0 0 403.2 216"' in svg  # 5.6 by 3 inches, in points
