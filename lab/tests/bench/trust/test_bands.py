"""Bands cover the class mix, and are not wide for nothing."""

from baserate_lab.bench.trust import bands


def test_bands_cover_and_are_not_wide_for_nothing(world, monkeypatch):
    monkeypatch.setattr(bands, "world_of", lambda name: world)
    small = {row.shift: row for row in bands.measure_bands("any", 200, 8, n_rounds=120)}
    large = {row.shift: row for row in bands.measure_bands("any", 2000, 4, n_rounds=120)}
    for rows, most in ((small, 0.45), (large, 0.3)):
        # Looks of a draw are not independent, and draws are few; with 60 % of its width a band would have 49 to 87 %.
        for shift, coverage in (("Constant", 0.9), ("Monotone", 0.8)):
            assert rows[shift].coverage >= coverage
            assert rows[shift].moving >= coverage - 0.1
            assert rows[shift].width < most
    assert small["Constant"].width > 1.3 * large["Constant"].width  # a small holdout leaves more open
