"""Figures: their points, their panels, their looks, and their files."""

import numpy as np
import pytest

from baserate.reports import figures as drawing
from baserate_lab.paper.pages import figures
from baserate_lab.paper.pages.run import ShownArtefact, Timeline

from .made_up import HOLDOUT, artefact, big_run, record

VARIANT = artefact("fig-batch", kind="figure", x="variant", metrics=("error",))


def test_points_over_holdouts():
    records = [record("FTH", (n / 100, n / 1000), None, holdout=n) for n in (500, 50, 1000)]
    records += [record("Base", (13.0, 0.2), None, holdout=None), record("ROGD", None, None, holdout=50)]
    (chart,) = figures.charts(HOLDOUT, records)
    assert chart.lines["FTH"] == figures.Line([50, 500, 1000], [0.5, 5.0, 10.0], [0.05, 0.5, 1.0])
    assert chart.lines["Base"] == figures.Line([50, 1000], [13.0, 13.0], [0.2, 0.2])  # a level line
    assert list(chart.lines) == ["Base", "FTH"]
    assert chart.log_x
    assert chart.ticks == [50, 500, 1000]
    assert chart.title == "MNIST, Sin: Error %"


def test_points_over_variants_and_the_papers():
    records = [record("FTH", 1 / x, x, variant=f"train={x}") for x in (0.5, 0.25)]
    (chart,) = figures.charts(VARIANT, records)
    assert chart.lines["FTH"][:2] == ([0.25, 0.5], [4.0, 2.0])
    assert sorted(zip(*chart.dots["FTH"][:2], strict=True)) == [(0.25, 0.25), (0.5, 0.5)]
    assert not chart.log_x
    assert chart.x_label == "share of the source that the model is trained on"
    (chart,) = figures.charts(VARIANT, [record("FTH", x, None, variant=f"batch={x}") for x in (1, 300)])
    assert chart.log_x  # which span orders of magnitude


def test_a_stand_in_has_no_crosses():
    (chart,) = figures.charts(VARIANT, [record(variant="batch=5", dataset="crop", stand_in="eurosat")])
    assert chart.dots == {}
    assert chart.title == "Crop, stand-in for EuroSAT, Sin: Error %"


def test_there_is_a_panel_for_each_metric_and_setting():
    part = big_run().artefacts[1]
    titles = [chart.title for chart in figures.charts(part.artefact, part.records)]
    assert titles == [
        f"{setting}: {metric}"
        for metric in ("Error %", "MSE to batch labels")
        for setting in ("CIFAR-10, Ber", "MNIST, Sin")
    ]


def test_timeline():
    data = Timeline(
        {"UOGD": ([20.0, 30.0], None), "Base": ([10.0, 0.0], [0.1, 0.2])}, [[0.25, 0.75], [1.0, 0.0]], "ab", 10
    )
    accuracy, distance, shares = figures.timeline(data)
    assert accuracy.lines["UOGD"][:2] == ([5.0, 15.0], [80.0, 70.0])
    assert list(accuracy.lines) == ["Base", "UOGD"]
    assert {name: line.y for name, line in distance.lines.items()} == {"Base": [0.1, 0.2]}
    assert {name: line.y for name, line in shares.lines.items()} == {"a": [0.25, 1.0], "b": [0.75, 0.0]}
    assert shares.stacked
    accuracy, _, shares = figures.timeline(data._replace(block=9.5))
    assert accuracy.lines["Base"].x == shares.lines["a"].x == [4.75, 14.25]


def test_what_is_drawn_is_what_was_said():
    charts = [
        drawing.Chart("lines", "x", {"FTH": drawing.Line([1, 10, 100], [3.0, 2.0, 1.0], [0.5, 0.5, 0.5])}, log_x=True),
        drawing.Chart(
            "shares",
            "x",
            {"a": drawing.Line([0, 1], [0.25, 1.0]), "b": drawing.Line([0, 1], [0.75, 0.0])},
            stacked=True,
        ),
    ]
    looks = {**figures.styles(["FTH"]), **drawing.area_styles(["a", "b"])}
    figure = drawing.Figure()
    left, right = figure.subplots(1, 2)
    drawing.draw_chart(left, charts[0], looks)
    drawing.draw_chart(right, charts[1], looks)
    np.testing.assert_array_equal(left.lines[0].get_xydata(), [[1, 3], [10, 2], [100, 1]])
    assert left.get_xscale() == "log"
    band = left.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (0.5, 3.5)
    lower, upper = (area.get_paths()[0].vertices for area in right.collections)
    assert lower[:, 1].max() == 1.0
    assert set(upper[upper[:, 0] == 0][:, 1]) == {0.25, 1.0}  # on top of the other


def test_methods_look_the_same_everywhere_and_different_from_each_other():
    every = ["Base", "OFC", "Oracle", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS", "FLH-FTL", "Arrows", "w-ERM"]
    looks = figures.styles(every)
    assert len(set(looks.values())) == len(every)
    assert figures.styles(["FLH-FTL", "FTH"]) == {name: looks[name] for name in ("FTH", "FLH-FTL")}
    assert looks["FTH"].colour != looks["FLH-FTL"].colour
    assert len(set(drawing.area_styles([str(i) for i in range(15)]).values())) == 15


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_files(tmp_path, ending):
    for i, part in enumerate(big_run().artefacts[1:]):
        once, twice = tmp_path / f"{i}.{ending}", tmp_path / f"{i}-again.{ending}"
        figures.save(part, once)
        figures.save(part, twice)
        assert once.read_bytes() == twice.read_bytes()
        assert once.read_bytes()[:5] == {"png": b"\x89PNG\r", "svg": b"<?xml"}[ending]


def test_a_table_is_not_drawn(tmp_path):
    with pytest.raises(ValueError, match="table-a has nothing to draw"):
        figures.save(ShownArtefact(artefact(), [record()], []), tmp_path / "a.png")
