"""The digits: source and target are apart."""

import hashlib

from baserate.datasets import digits


def test_source_and_target_do_not_share_samples():
    data = digits.load()
    digest = [{hashlib.sha1(row.tobytes()).hexdigest() for row in X} for X in (data.source_X, data.target_X)]
    assert len(digest[0] & digest[1]) == 0
