"""When a check looks, and that it spends no more than there is."""

from baserate.trust.assumption.schedule import (
    BLOCK,
    WINDOWS,
    due,
    looks_in,
    renewal_due,
    renewals,
    spent,
    spent_on_direction,
)


def test_no_more_is_spent_than_there_is():
    total = sum(spent(0, 0, look) for look in range(20_000))
    for window in range(1, len(WINDOWS)):
        looks = looks_in(window)
        assert due(window, looks - 2) <= WINDOWS[window] < due(window, looks - 1)
        total += sum(looks * spent(window, turn, 0) for turn in range(20_000))
    assert renewal_due(renewals() - 2) < BLOCK == renewal_due(renewals() - 1)
    total += sum(renewals() * spent_on_direction(block) for block in range(20_000))
    assert 0.999 < total <= 1.0
    assert spent(1, 0, 0) == 0.0
