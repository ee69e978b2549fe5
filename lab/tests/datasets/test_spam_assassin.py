"""SpamAssassin: mails in the order in which they were received."""

import json

from baserate_lab.datasets import spam_assassin


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
