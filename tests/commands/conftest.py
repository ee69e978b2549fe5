"""A folder with a holdout, that commands run in."""

import pytest

from ..files.streams import holdout, write


@pytest.fixture
def in_a_folder_with_a_holdout(in_an_empty_folder, tmp_path):
    write(holdout(), tmp_path / "holdout.csv")
