"""Dates do not depend on the machine."""

import time

import pytest

from baserate_lab.datasets._dates import seconds


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_dates_do_not_depend_on_the_machine(zone, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert seconds("Thu, 1 Jan 1970 00:01:00 GMT") == 60
    assert seconds("Thu, 01 Jan 1970 01:01:00 +0100 (IST)") == 60
    assert seconds("Thu Jan  1 00:01:00 1970") == 60
    assert seconds("Wed, 31 Dec 1969 19:01:00 -0500") == 60
    assert seconds("yesterday") is None
    assert seconds("Thu, 99 Jan 1970 00:61:00 GMT") is None or isinstance(seconds("Thu, 99 Jan 1970 00:61:00 GMT"), int)
    monkeypatch.undo()
    time.tzset()
