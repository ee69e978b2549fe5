"""The warnings of ``baserate prevalence`` in words."""

from baserate.files.prevalence import KeyedDoubts
from baserate.reports.prevalence_doubts import WITH_AUDITS, WITHOUT_AUDITS, warnings_of
from baserate.smoothing.doubts import Contradiction, Doubts

WEEKS = ["2026-01-05", "2026-01-12", "2026-01-19"]
AGAINST = Contradiction(1, 1, 2, labels=100.0, found=3.0, low=20.4, high=30.2, chance=0.006)
ALARM = Doubts(1, "too many uncertain predictions among predictions of class 1")


def test_no_doubt_no_warning():
    assert warnings_of([KeyedDoubts("", WEEKS, Doubts())], ["ham", "spam"], WITH_AUDITS) == []


def test_both_kinds_name_periods_classes_and_what_to_do():
    found = warnings_of([KeyedDoubts("", WEEKS, ALARM._replace(contradiction=AGAINST))], ["ham", "spam"], WITH_AUDITS)
    assert found[0].startswith(
        "ALARM since the period from 2026-01-12: drift beyond the class mix: too many uncertain predictions among "
        "predictions of 'spam'. From then on, do not rely on"
    )
    assert found[1].startswith(
        "Labels contradict hindsight: of 100 labelled rows in the periods from 2026-01-12 to 2026-01-19, 3 are "
        "'spam', and its limits allow 20 to 31. The share and its limits are by audits and model"
    )


def test_of_many_keys_the_first_is_told_about_and_chance_is_shared():
    keys = [KeyedDoubts(key, ["rows 1 to 10", "rows 11 to 20"], ALARM) for key in ("a", "b")]
    keys.append(KeyedDoubts("c", ["rows 1 to 10", "rows 11 to 20"], Doubts()))
    (found,) = warnings_of(keys, ["ham", "spam"], WITHOUT_AUDITS)
    assert "ALARM in a since rows 11 to 20: " in found
    assert "(also in b: 2 of 3 keys). From then on, do not rely on any of these shares. Have some rows" in found
    periods = ["rows 1 to 10", "rows 11 to 20", "rows 21 to 25"]
    likely = KeyedDoubts("b", periods, Doubts(contradiction=AGAINST))
    sure = KeyedDoubts("a", periods, Doubts(contradiction=AGAINST._replace(chance=1e-6)))
    (found,) = warnings_of([likely, sure], ["ham", "spam"], WITH_AUDITS)
    assert "Labels contradict hindsight in a: of 100 labelled rows among rows 11 to 25, 3 are" in found
    assert "also in" not in found
