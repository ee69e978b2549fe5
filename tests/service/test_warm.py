"""A server that starts says nothing about rows that are nobody's."""

import warnings

from baserate.service.warm import warm_up


def test_compiling_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm_up()
