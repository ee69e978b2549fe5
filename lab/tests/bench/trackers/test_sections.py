"""The tables of the trackers' benchmark show the numbers."""

from baserate_lab.bench.trackers.page import page

from .well_run import everything


def test_the_tables_show_the_numbers():
    text = page(everything())
    assert "| digits | 10 | 0.333 ± 0.000 | 0.250 ± 0.000 | 0.167 ± 0.000 |" in text
    assert "| cifar10 | Bernoulli | 0.1000 | 0.1000 | 0.1000 | 0.1000 | 1.000 ± 0.000 | 1.000 ± 0.000 |" in text
    assert "| fashion | Square drawn | 100 | 8.00 | 7.00 | 6.80 | 0.83 ± 0.00 |" in text
    assert "| Bernoulli | 10 | 7.00 | 6.90 | 6.80 | 0.1000 | 0.0500 |" in text
    assert "| mnist | 1 | 10.00 | 8.00 | 7.50 | 7.00 | 7.00 | 6.80 |" in text
    assert "| forest | all | as they are | 10.00 | 9.00 | 7.00 | -3.00 ± 0.00 | -2.00 ± 0.00 |" in text
    assert "| too sure | 200 | 0.000 ± 0.000 |" in text
