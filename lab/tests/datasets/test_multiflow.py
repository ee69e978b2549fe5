"""Tables of scikit-multiflow, Elec2 and the weather: streams that keep their order."""

import pytest

from baserate_lab.datasets import elec2, weather


@pytest.mark.parametrize(
    ("module", "name", "classes"),
    [(elec2, "elec.csv", ("down", "up")), (weather, "weather.csv", ("no rain", "rain"))],
)
def test_streams_keep_their_order(module, name, classes, tmp_path, unpinned, check):
    unpinned(module)
    rows = [f"{i},{i / 4},{i % 2}" for i in range(9)]
    (tmp_path / name).write_text("feat_1,feat_2,target\n" + "\n".join(rows) + "\n")
    data = check(module.load(tmp_path))
    assert data.source_X.tolist() == [[i, i / 4] for i in range(3)]
    assert data.target_X.tolist() == [[i, i / 4] for i in range(3, 9)]
    assert data.target_y.tolist() == [1, 0, 1, 0, 1, 0]
    assert data.in_time_order
    assert data.class_names == classes


def test_a_table_that_is_none_is_an_error_of_the_file(tmp_path):
    (tmp_path / "elec.csv").write_text("feat_1,target\n1.0,up\n")
    with pytest.raises(OSError, match=r"elec.csv in .* cannot be read"):
        elec2.load(tmp_path)
