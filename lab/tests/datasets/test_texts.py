"""Reuters, SpamAssassin and 20 Newsgroups; dates."""

import codecs
import json
import pickle
import shutil
import time
import zlib
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_files

from baserate_lab.datasets import newsgroups, reuters, spam_assassin
from baserate_lab.datasets._dates import seconds

from . import old_pickles as pickles

TOPICS = [f"topic{i:02}" for i in range(11)]


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


def stories():
    """Three stories of every topic but the last, whose times run against their numbers; and some to be left out."""
    made = [
        {
            "id": str(i),
            "title": f"STORY\n {i}",
            "body": f"body of {i} Reuter",
            "topics": [TOPICS[i % 11]],
            "date": f"{30 - i // 2}-MAR-1987 15:0{i % 2}:01.79",
        }
        for i in range(33)
        if not (i % 11 == 10 and i > 10)
    ]
    made[0]["date"] = "6-OCT-1987  09:00:00.00\n******an editor's note"
    made += [
        {"id": "90", "title": "none", "date": "26-FEB-1987 15:01:01.79"},
        {"id": "91", "title": "two", "topics": ["topic01", "topic02"], "date": "26-FEB-1987 15:01:01.79"},
    ]
    del made[1]["body"]
    return made


def write_reuters(folder, made):
    for i in range(22):
        (folder / f"reuters-{i:03}.json").write_text(json.dumps(made[i::22]))
    return folder


def test_reuters(tmp_path, unpinned, check):
    unpinned(reuters)
    data = check(reuters.load(write_reuters(tmp_path, stories())))
    assert data.class_names == tuple(TOPICS[:10])
    assert (len(data.source_y), len(data.target_y)) == (15, 15)
    assert data.in_time_order
    texts = [*data.source_X, *data.target_X]
    numbers = [int(text.split()[1].rstrip(".")) for text in texts]
    assert numbers[-1] == 0, "October"
    assert texts[-1] == "STORY 0. body of 0 Reuter"
    assert "STORY 1." in texts
    days = [(30 - n // 2, n % 2) for n in numbers[:-1]]
    assert days == sorted(days)
    assert [n % 11 for n in numbers] == [*data.source_y, *data.target_y]


def test_a_story_without_a_date_is_an_error_of_the_file(tmp_path):
    made = stories()
    made[3]["date"] = "soon"
    with pytest.raises(OSError, match="story 3 has no date: 'soon'"):
        reuters.load(write_reuters(tmp_path, made))


def mail(received, subject="hello", body="the body\n\nsecond part", **head):
    lines = [f"Received: from a by b\n\tfor <c>; {stamp}" for stamp in received]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in head.items()]
    if subject is not None:
        lines.append(f"Subject: {subject}")
    return "From someone\n" + "\n".join(lines) + "\n\n" + body


def write_mails(folder, mails):
    for group in spam_assassin._FOLDERS:
        (folder / group).mkdir()
        for i, text in enumerate(mails.get(group, ())):
            (folder / group / f"{i:05}.json").write_text(json.dumps({"id": str(i), "text": text}))
    return folder


def test_spam_assassin(tmp_path, unpinned, check):
    unpinned(spam_assassin)
    august, july = "Fri, 2 Aug 2002 08:00:00 +0100 (IST)", "Wed, 31 Jul 2002 23:00:00 -0400 (EDT)"
    mails = {
        "easy-ham-1": [
            mail([august, "Mon, 1 Jan 2001 00:00:00 +0000"], "late ham"),
            mail(["rubbish", "Sat, 3 Aug 2002 00:00:00 GMT"], "latest ham"),
            mail([], "dropped: no time of receipt", Date="Thu, 1 Aug 2002 00:00:00 GMT"),
        ],
        "easy-ham-2": [mail([], None, Delivery_Date="Tue Jul 30 10:00:00 2002")],
        "spam-1": [mail(["Tue, 30 Jul 2002 09:00:00 GMT"], "early spam", Date="Mon, 1 Jan 2020 00:00:00 GMT")],
        "spam-2": [mail([july], "in August, by the clock of Greenwich")],
    }
    data = check(spam_assassin.load(write_mails(tmp_path, mails)))
    assert [text.split("\n")[0] for text in data.source_X] == ["early spam", ""]
    assert [text.split("\n")[0] for text in data.target_X] == [
        "in August, by the clock of Greenwich", "late ham", "latest ham",
    ]  # fmt: skip
    assert data.source_X[0] == "early spam\nthe body\n\nsecond part"
    assert data.source_y.tolist() == [1, 0]
    assert data.target_y.tolist() == [1, 0, 0]
    assert data.class_names == ("ham", "spam")
    assert data.in_time_order


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
