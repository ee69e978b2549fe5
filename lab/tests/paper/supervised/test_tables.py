"""Tables of what was found."""

import numpy as np

from baserate_lab.paper.supervised import marginals, tables


def test_the_tables_can_be_made(made_up):
    errors, trainings, disagreements, regrets = made_up
    disagreements["saturated"][:, :, 0] = 0.0
    table = tables.marginals_table(errors)
    assert list(table.columns[0].cells) == list(marginals.TRACKERS)
    assert next(iter(table.columns[2].cells)) == "1.00"
    assert list(tables.calls_table(trainings).columns[-1].cells) == ["1/3"] * 4 + ["2/3"] * 2
    shares = tables.still_table({("uniform", "theory"): np.array([11, 12])}).columns[2]
    assert (shares.header, list(shares.cells)) == ("share with at most 11", ["50.0 %"])
    found = tables.identity_table(disagreements)
    assert next(iter(found.columns[3].cells)) == "< 1e-10"
    assert "n = 51,200" in found.columns[3].header
    assert list(tables.regret_table(regrets).columns[-1].cells) == ["2/3"] * 4 + ["5/6"] * 4
