"""Titles of arXiv papers: lines separated by tabs, in the order of time."""

import lzma

import numpy as np
import pytest

from baserate_lab.datasets import DataNotFoundError, arxiv_titles

CATEGORIES = ["cs.NI", "math.FA", "stat.ME"]


def write(folder, n=90, header="created\tprimary_category\tarxiv_id\ttitle"):
    folder.mkdir(exist_ok=True)
    rows = [f'{1990 + i // 4}-01-02\t{CATEGORIES[i % 3]}\tid/{i}\tOn  paper "{i}' for i in range(n)]
    text = "\n".join([header, *rows[::-1]]) + "\n"  # the years run backwards
    (folder / "arxiv_titles.tsv.xz").write_bytes(lzma.compress(text.encode()))
    return folder


def number(title):
    return int(title.removeprefix('On paper "'))


def test_earlier_titles_are_the_source_and_later_ones_the_target(tmp_path, check):
    data = check(arxiv_titles.load(write(tmp_path)))
    assert data.class_names == tuple(CATEGORIES)
    assert (len(data.source_y), len(data.target_y)) == (60, 30)
    assert data.in_time_order
    assert data.stand_in_for == "arxiv"
    numbers = [number(title) for title in (*data.source_X, *data.target_X)]
    years = [i // 4 for i in numbers]
    assert years == sorted(years)
    assert sorted(numbers) == list(range(90))
    assert all(i % 3 == y for i, y in zip(numbers, (*data.source_y, *data.target_y), strict=True))


def test_many_titles_are_thinned_evenly_over_time(tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv_titles, "_SOURCE", 20)
    monkeypatch.setattr(arxiv_titles, "_TARGET", 7)
    data = arxiv_titles.load(write(tmp_path))
    assert (len(data.source_y), len(data.target_y)) == (20, 7)
    years = np.array([number(title) // 4 for title in data.target_X])
    assert set(np.diff(years)) <= {1, 2}
    assert data.source_X.tolist() == arxiv_titles.load(tmp_path).source_X.tolist()


def test_it_is_read_from_the_named_folder_only(tmp_path, monkeypatch):
    with pytest.raises(DataNotFoundError, match=r"arxiv_titles\.tsv\.xz"):
        arxiv_titles.load()
    monkeypatch.setenv("BASERATE_DATA", str(tmp_path))
    write(tmp_path / "arxiv_titles")
    assert len(arxiv_titles.load().target_y) == 30


def test_a_file_with_other_columns_is_refused(tmp_path):
    with pytest.raises(OSError, match="its columns are a, b; expected created, primary_category, arxiv_id, title"):
        arxiv_titles.load(write(tmp_path, header="a\tb"))
