"""Results as records beside the paper's numbers."""

import numpy as np
import pytest

from baserate_lab.paper.artefacts import ARTEFACTS
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Record
from baserate_lab.paper.runs.cells import PaperCell, PaperResult

ERRORS = (1.0, 2.0, 6.0)


def of(name, *cells):
    """Findings from cells and their results."""
    return Findings(ARTEFACTS[name], [cell for cell, _ in cells], {c: r for c, r in cells if r is not None})


def mnist(method="FLH-FTL", seed=0, **fields):
    return PaperCell(
        **{"dataset": "mnist", "model": "mlp", "shift": "ber", "holdout": 240} | fields, method=method, seed=seed
    )


def three(**fields):
    return [
        (mnist(seed=seed, model_seed=seed, **fields), PaperResult(error, error / 10, error / 100, 60.0 * error))
        for seed, error in enumerate(ERRORS)
    ]


def by_metric(findings):
    return {record.metric: record for record in findings.records}


def test_a_record_is_the_mean_over_seeds_beside_the_papers_number():
    found = by_metric(of("table-uols", *three()))
    assert list(found) == ["error", "mse", "mse_true"]
    where = ("table-uols", "mnist", "mlp", "ber", 240, "FLH-FTL")
    std = np.sqrt((4 + 1 + 9) / 3)  # of the population
    assert found["error"] == Record(*where, "error", 3.0, pytest.approx(std), 3, 4.4, 0.7, None, "", 1)
    assert found["mse"][7:10] == (pytest.approx(0.3), pytest.approx(std / 10), 3)
    assert found["mse"].paper_mean is not None
    assert found["mse_true"][7:] == (pytest.approx(0.03), pytest.approx(std / 100), 3, None, None, None, "", None)


def test_the_decimals_are_those_that_are_printed():
    record = by_metric(of("table-sols-mnist", (mnist("CT-RS/FTH", holdout=0), PaperResult(5.0, None, None, 1.0))))[
        "error"
    ]
    assert (record.paper_mean, record.digits) == (4.71, 2)
    record = by_metric(of("table-time", (mnist("w-ERM", holdout=0), None)))["minutes"]
    assert (record.paper_mean, record.digits) == (107.0, 0)
    # How time grows is printed, but is no number.
    grows = PaperCell("", "", "", 0, "Aligator", 0, n_rounds=1024)
    assert {r.digits for r in of("table-complexity", (grows, PaperResult(None, None, None, 1.0, 10))).records} == {None}


def test_the_papers_numbers_are_those_of_the_same_shift_and_method():
    found = of("table-uols", *three(), *three(shift="sin"), *three(method="Base"))
    said = {(r.shift, r.method): (r.paper_mean, r.paper_std) for r in found.records if r.metric == "error"}
    assert said == {("ber", "FLH-FTL"): (4.4, 0.7), ("sin", "FLH-FTL"): (3.3, 0.2), ("ber", "Base"): (4.9, 0.4)}


def test_seeds_that_were_not_run_are_not_counted():
    cells = three()
    cells[1] = (cells[1][0], None)
    record = by_metric(of("table-uols", *cells))["error"]
    assert (record.ours_mean, record.seeds) == (3.5, 2)


def test_a_number_of_the_paper_that_was_not_run_is_still_shown():
    found = by_metric(of("table-uols", (mnist(), None)))
    assert found["error"][7:12] == (None, None, 0, 4.4, 0.7)
    assert "mse_true" not in found  # neither run nor printed


def test_what_was_neither_run_nor_printed_has_no_record():
    assert of("table-uols", (mnist("FLH-FTL (literal)"), None)).records == []
    assert [r.metric for r in of("table-uols", (mnist("UOGD"), PaperResult(5.0, None, None, 1.0))).records] == ["error"]


def test_results_of_other_cells_do_not_matter():
    cell = mnist()
    strange = {mnist(seed=1): PaperResult(9.0, None, None, 1.0), cell: PaperResult(2.0, None, None, 1.0)}
    record = by_metric(Findings(ARTEFACTS["table-uols"], [cell], strange))["error"]
    assert (record.ours_mean, record.seeds) == (2.0, 1)


@pytest.mark.parametrize(
    ("dataset", "model", "printed"),
    [("crop", "mlp", "eurosat"), ("arxiv-random", "minilm", "arxiv"), ("mnist", "mlp", None)],
)
def test_a_stand_in_stands_beside_the_numbers_of_the_data_it_stands_for(dataset, model, printed):
    record = by_metric(of("table-uols", *three(dataset=dataset, model=model)))["error"]
    assert record.stand_in == printed
    assert record.dataset == dataset
    assert record.paper_mean is not None
    assert record.comparable == (printed is None)


def test_minutes():
    cells = [(mnist("w-ERM", holdout=0), PaperResult(5.0, None, None, 90.0))]
    (record,) = of("table-time", *cells).records
    assert (record.metric, record.ours_mean) == ("minutes", 1.5)
    assert record.holdout is None
    assert record.paper_mean is not None
    assert of("table-time", *cells).values("minutes", method="w-ERM") == {0: 1.5}


@pytest.mark.parametrize(
    ("name", "field", "values", "variants"),
    [
        ("table-marginals", "marginal", ("BBSE", "MLLS"), ["marginal=BBSE", "marginal=MLLS"]),
        ("fig-online-samples", "batch_size", (1, 50), ["batch=1", "batch=50"]),
        ("fig-split", "train_share", (0.5, 0.9), ["train=0.5", "train=0.9"]),
        ("table-complexity", "n_rounds", (1024, 2048), ["rounds=1024", "rounds=2048"]),
        ("table-uols", "batch_size", (10,), [""]),
    ],
)
def test_what_varies_is_named(name, field, values, variants):
    cells = [(mnist(**{field: value}), PaperResult(1.0, 1.0, 1.0, 1.0, 10)) for value in values]
    found = of(name, *cells)
    assert list(dict.fromkeys(record.variant for record in found.records)) == variants
    for value in values:
        assert found.values(ARTEFACTS[name].metrics[0], **{field: value}) == {0: 1.0}


def test_each_estimator_has_its_own_printed_number():
    cells = [
        (PaperCell("fashion", "mlp", "ber", 240, "FTH", 0, marginal=m), PaperResult(1.0, None, None, 1.0))
        for m in ("BBSE", "MLLS", "RLLS")
    ]
    said = [record.paper_mean for record in of("table-marginals", *cells).records]
    assert None not in said
    assert len(set(said)) > 1


def test_values_are_by_seed_and_of_one_group():
    found = of("table-uols", *reversed(three()), *three(shift="sin"))
    assert list(found.values("error", shift="ber", method="FLH-FTL").items()) == list(enumerate(ERRORS))
    assert found.values("error", method="FTH") == {}
    with pytest.raises(ValueError, match=r"2 groups of table-uols have \{'method': 'FLH-FTL'\}; name more fields"):
        found.values("error", method="FLH-FTL")


def test_groups_are_cells_without_seeds():
    found = of("table-uols", *three(), (mnist("FTH", seed=2), None))
    assert found.groups() == [mnist(), mnist("FTH")]
    assert [r.error for r in found.results(mnist()).values()] == list(ERRORS)
    assert found.results(mnist("FTH")) == {}


def test_differences_are_of_the_same_seed():
    first, second = {0: 5.0, 2: 1.0, 3: 9.0}, {2: 4.0, 1: 7.0, 0: 2.0}
    assert paired(first, second).tolist() == [3.0, -3.0]
    assert len(paired(first, {})) == 0


def test_gains_are_differences_on_the_same_streams():
    base = [
        (cell._replace(method="Base"), result._replace(error=result.error + 2.0 + cell.seed))
        for cell, result in three()
    ]
    found = of("table-uols", *three(), *base, *three(shift="sin"), *three(method="Arrows"))
    (gain,) = found.gains  # no base model under sin, and of Arrows nothing is printed
    assert (gain.method, gain.metric, gain.shift, gain.seeds) == ("FLH-FTL", "gain", "ber", 3)
    assert gain.ours_mean == pytest.approx(3.0)
    assert gain.ours_std == pytest.approx(np.std([2.0, 3.0, 4.0]))
    assert gain.paper_mean == pytest.approx(4.9 - 4.4)
    assert gain.paper_std == pytest.approx(np.hypot(0.4, 0.7))
    assert gain.rounding == pytest.approx(0.1)  # of two numbers with one decimal
    del base[1:]
    assert [r.seeds for r in of("table-uols", *three(), *base).gains] == [1]
    assert of("table-uols", *three(), (base[0][0], None)).gains == []


def test_gains_on_stand_ins_are_not_told():
    cells = [
        (PaperCell("crop", "mlp", "ber", 240, method, seed, seed), PaperResult(5.0 + seed, None, None, 1.0))
        for method in ("Base", "FTH")
        for seed in range(3)
    ]
    assert of("table-uols", *cells).gains == []


def test_what_is_left_out_may_be_shown_though_nothing_is_printed_of_it():
    cells = [mnist("FLH-FTL (literal)"), mnist("UOGD")]
    assert [r.method for r in Findings(ARTEFACTS["table-uols"], cells, {}).records] == ["UOGD"]
    found = Findings(ARTEFACTS["table-uols"], cells, {}, unprinted=True).records
    assert {r.method for r in found} == {"FLH-FTL (literal)", "UOGD"}
    assert {(r.ours_mean, r.seeds) for r in found} == {(None, 0)}
