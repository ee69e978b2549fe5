"""Reuters: stories of one topic in the order of time."""

import json

import pytest

from baserate_lab.datasets import reuters

TOPICS = [f"topic{i:02}" for i in range(11)]


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
