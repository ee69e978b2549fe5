"""Cells come back with what was found."""

from baserate_lab.paper.supervised import running


def test_cells_come_back_with_what_was_found():
    assert running.run_all(divmod, [(7, 2), (9, 5)], "") == [((7, 2), (3, 1)), ((9, 5), (1, 4))]
