"""20 Newsgroups in all of its forms."""

import codecs
import pickle
import shutil
import zlib
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_files

from baserate_lab.datasets import newsgroups

from . import old_pickles as pickles

POSTINGS = {
    "train": {
        ("sci.space", 11): "From: a\nSubject: moon\n\nto the moon\n\nand back",
        ("rec.autos", 9): "From: b\n\ncars \xe9",
        ("rec.autos", 10): "From: c\n\nmore cars",
    },
    "test": {("sci.space", 8): "From: d\n\nstars", ("rec.autos", 7): "From: e\n\nwheels"},
}


def write_folders(folder):
    for part, postings in POSTINGS.items():
        for (group, number), text in postings.items():
            place = folder / f"20news-bydate-{part}" / group
            place.mkdir(parents=True, exist_ok=True)
            (place / str(number)).write_bytes(text.encode("latin1"))


def write_bunch(folder):
    bunches = {}
    for part, postings in POSTINGS.items():
        paths = np.array([f"/home/x/20news-bydate-{part}/{group}/{number}" for group, number in postings])
        bunches[part] = pickles.bunch(data=list(postings.values()), filenames=paths)
    (folder / "20news-bydate_py3.pkz").write_bytes(zlib.compress(pickles.finished(pickles.mapping(bunches))))


def write_todays_bunch(folder, protocol=None):
    """As scikit-learn does it (``sklearn.datasets._twenty_newsgroups``)."""
    write_folders(folder / "made")
    parts = {part: load_files(folder / "made" / f"20news-bydate-{part}", encoding="latin1") for part in POSTINGS}
    shutil.rmtree(folder / "made")
    (folder / "20news-bydate_py3.pkz").write_bytes(codecs.encode(pickle.dumps(parts, protocol), "zlib_codec"))


WRITERS = [write_folders, write_bunch, *(partial(write_todays_bunch, protocol=p) for p in (None, 2, 4, 5))]


@pytest.mark.parametrize("write", WRITERS)
def test_newsgroups(write, tmp_path, unpinned, check):
    write(tmp_path)
    unpinned(newsgroups)
    data = check(newsgroups.load(tmp_path))
    assert data.class_names == ("rec.autos", "sci.space")
    assert sorted(zip(data.source_X, data.source_y.tolist(), strict=True)) == [
        ("cars \xe9", 0), ("more cars", 0), ("to the moon\n\nand back", 1),
    ]  # fmt: skip
    assert sorted(zip(data.target_X, data.target_y.tolist(), strict=True)) == [("stars", 1), ("wheels", 0)]
    assert not data.in_time_order


def test_a_bunch_that_is_cut_is_an_error_of_the_file(tmp_path):
    write_bunch(tmp_path)
    path = tmp_path / "20news-bydate_py3.pkz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(OSError, match=r"20news-bydate_py3.pkz in .* cannot be read: error"):
        newsgroups.load(tmp_path)


def test_both_forms_of_newsgroups_are_the_same_arrays(tmp_path):
    sums = []
    for name, write in (("a", write_folders), ("b", write_bunch)):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
        with pytest.raises(ValueError, match="SHA-256") as info:
            newsgroups.load(tmp_path / name)
        sums.append(str(info.value).split("arrays is ")[1][:64])
    assert sums[0] == sums[1]
