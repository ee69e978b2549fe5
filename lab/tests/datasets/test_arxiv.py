"""arXiv: lines of JSON, the largest subjects, the order of time."""

import dataclasses
import json

import numpy as np
import pytest

from baserate_lab.datasets import DataNotFoundError, arxiv
from baserate_lab.datasets._arrays import checksum
from baserate_lab.datasets._fetch import obtain

SUBJECTS = [f"s{i:02}" for i in range(24)]  # one more than is kept


def paper(number, categories, year, title=None):
    return {
        "id": f"{number:04}",
        "title": title or f"On\n  paper {number}",
        "abstract": f"  It is about\n{number}. ",
        "categories": categories,
        "versions": [
            {"version": "v1", "created": f"Mon, 2 Apr {year} 19:18:42 GMT"},
            {"version": "v2", "created": "Mon, 2 Apr 1980 19:18:42 GMT"},
        ],
        "update_date": "1981-01-01",
    }


def write(folder, papers, name="data-sample.jsonl"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(json.dumps(paper) for paper in papers) + "\n\n")
    return folder


def papers(n=3):
    """Every subject n times but the last one, which has fewer; the years run backwards."""
    rows = [(subject, i) for i in range(n) for subject in SUBJECTS if not (subject == "s23" and i)]
    return [paper(number, f"{subject} s23", 2020 - number % 25) for number, (subject, _) in enumerate(rows)]


@pytest.fixture(autouse=True)
def _unpinned(unpinned):
    unpinned(arxiv, "SAMPLE")


def test_the_order_is_that_of_the_first_versions(tmp_path, check):
    data = check(arxiv.load(write(tmp_path, papers())))
    assert data.class_names == tuple(SUBJECTS[:23])
    assert len(data.source_y) == 46
    assert len(data.target_y) == 23
    assert data.in_time_order
    years = {f"On paper {i}. It is about {i}.": 2020 - i % 25 for i in range(len(papers()))}
    order = [years[text] for text in (*data.source_X, *data.target_X)]
    assert order == sorted(order)
    assert order[0] < order[-1]


def test_texts_go_with_their_subjects(tmp_path):
    made = papers()
    expected = {f"On paper {i}. It is about {i}.": p["categories"].split()[0] for i, p in enumerate(made)}
    data = arxiv.load(write(tmp_path, made))
    for X, y in ((data.source_X, data.source_y), (data.target_X, data.target_y)):
        assert [expected[text] for text in X] == [data.class_names[c] for c in y]


def test_astrophysics_is_one_subject(tmp_path):
    astro = [paper(1000 + i, f"astro-ph{part} gr-qc", 2000) for i, part in enumerate(["", ".CO", ".GA", ".HE"])]
    data = arxiv.load(write(tmp_path, papers() + astro))
    counts = np.bincount(np.r_[data.source_y, data.target_y])
    assert data.class_names[0] == "astro-ph"
    assert counts[0] == 4
    assert "s22" not in data.class_names, "of subjects of the same size, the first by name stay"


def test_a_split_at_random_is_nine_to_one_and_always_the_same(tmp_path):
    write(tmp_path, papers(10))
    data, again = (arxiv.load(tmp_path, by_time=False) for _ in range(2))
    assert (len(data.source_y), len(data.target_y)) == (207, 23)
    assert not data.in_time_order
    assert data.target_X.tolist() == again.target_X.tolist()
    timed = arxiv.load(tmp_path)
    assert sorted((*timed.source_X, *timed.target_X)) == sorted((*data.source_X, *data.target_X))
    assert timed.target_X.tolist()[:20] != data.target_X.tolist()[:20]


def test_the_whole_file_goes_before_the_sample_and_is_thinned(tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv, "_ENOUGH", 30)
    write(tmp_path, papers(), "arxiv-metadata-oai-snapshot.json")
    write(tmp_path, papers(1))
    data = arxiv.load(tmp_path)
    assert len(data.source_y) + len(data.target_y) == 30
    assert "220,000 papers" in data.provenance
    assert len({*data.source_X, *data.target_X}) == 30
    assert arxiv.load().source_X.tolist() == data.source_X.tolist(), "it is kept"


def test_the_sample_says_that_it_is_one(tmp_path):
    assert "1 %" in arxiv.load(write(tmp_path, papers())).provenance


def test_without_data_both_ways_are_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"pip download --no-deps papers-without-code==0.3.0") as info:
        arxiv.load(tmp_path)
    assert "arxiv-metadata-oai-snapshot.json" in info.value.__notes__[0]


def test_a_named_folder_without_papers_does_not_give_the_sample_that_is_kept(tmp_path, monkeypatch):
    write(tmp_path / "mine", papers())
    for pin in (None, "known"):
        if pin:  # the sample's checksum is known, outside of tests
            arrays = obtain(arxiv.SAMPLE, tmp_path / "mine")
            monkeypatch.setattr(arxiv, "SAMPLE", dataclasses.replace(arxiv.SAMPLE, sha256=checksum(arrays)))
        assert len(arxiv.load(tmp_path / "mine").source_y) == 46
        (tmp_path / "other").mkdir(exist_ok=True)
        with pytest.raises(DataNotFoundError, match="other does not hold"):
            arxiv.load(tmp_path / "other")
        with pytest.raises(NotADirectoryError, match=r"no folder .*mistyped.*holds the files of arxiv"):
            arxiv.load(tmp_path / "mistyped")
        monkeypatch.setenv("BASERATE_DATA", str(tmp_path / "root"))
        (tmp_path / "root" / "arxiv").mkdir(parents=True, exist_ok=True)
        with pytest.raises(DataNotFoundError, match="arxiv does not hold"):
            arxiv.load()
        monkeypatch.delenv("BASERATE_DATA")
        assert len(arxiv.load().source_y) == 46


def test_the_environment_may_have_the_sample(tmp_path, monkeypatch):
    write(tmp_path / "arxiv", papers())
    monkeypatch.setenv("BASERATE_DATA", str(tmp_path))
    assert len(arxiv.load().source_y) == 46


def test_a_line_that_is_cut_is_an_error_of_the_file(tmp_path):
    (tmp_path / "data-sample.jsonl").write_text(json.dumps(paper(1, "s01", 2000))[:-5])
    with pytest.raises(OSError, match=r"data-sample.jsonl in .* cannot be read"):
        arxiv.load(tmp_path)
