"""Questions to the table of titles in other categories, asked of made-up results."""

from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.pages.summary import summarise
from baserate_lab.paper.runs.cells import REAL

from .asking import findings, holds, result

NAME = "table-arxiv-titles"


def test_claims():
    def asked(ahead_real, ahead_simulated):
        def give(cell):
            ahead = ahead_real if cell.shift == REAL else ahead_simulated
            return result(10.0 + cell.seed - (ahead if cell.method == "FLH-FTL" else 0.0))

        return holds(NAME, give)

    assert asked(1.0, 1.0) == [True, True]
    assert asked(-0.1, 1.0) == [True, False]
    assert asked(1.0, -0.1) == [False, True]
    assert holds(NAME, lambda _: None) == [None, None]


def test_printed_numbers_of_both_tables_stand_beside_ours_and_are_counted_apart():
    found = findings(NAME, lambda _: result(10.0, 0.1))
    records = [r for r in found.records if r.method == "Base" and r.metric == "error"]
    assert {r.shift for r in records} == {"ber", "sin", "mon", "squ", REAL}
    assert {r.shift for r in records if r.paper_mean is not None} == {"ber", "sin", "mon", "squ"}
    assert all(r.stand_in == "arxiv" and not r.judged for r in found.records)
    summary = summarise(Reproduction("", 0.0, [ShownArtefact(found.artefact, found.records, [])], {}))
    assert summary.total.compared == 0
    apart = summary.apart["arxiv_titles"]
    beside = [r for r in found.records if r.paper_mean is not None]
    assert apart.compared == len(beside) > 40
    assert apart.agree == sum(r.agrees for r in beside) < apart.compared
    sentence = f"arXiv titles, other categories, {apart.agree} of {apart.compared} agree."
    assert f"Of these, counted apart by the same rule: {sentence}" in summary.left_out
