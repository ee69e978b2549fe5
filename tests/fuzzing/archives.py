"""Archives of a changed tree and changed arrays, and changes of the archive itself."""

import io
import json
import struct
import warnings
import zipfile

import numpy as np


class Draft:
    """A state file that is being changed: a tree, and arrays that it refers to by number.

    Parameters
    ----------
    golden : Golden
        The valid file.
    """

    def __init__(self, golden):
        self.name = golden.name
        self.tree = golden.tree()
        self.arrays = list(golden.arrays)
        self._members = list(golden.members)

    def put(self, i, array):
        """Put another array into a place."""
        self.arrays[i], self._members[i] = array, None

    def add(self, array):
        """Add an array; gives its number."""
        self.arrays.append(array)
        self._members.append(None)
        return len(self.arrays) - 1

    def members(self):
        """The members of the archive by name, as they are written."""
        found = [("manifest.json", json.dumps(self.tree).encode())]
        for i, member in enumerate(self._members):
            found.append((f"{i}.npy", _npy(self.arrays[i]) if member is None else member))
        return found


def _npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def packed(members, compression=zipfile.ZIP_STORED):
    """The bytes of an archive."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name are meant
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, content in members:
                archive.writestr(zipfile.ZipInfo(name), content, compress_type=compression)
    return file.getvalue()


def damaged(members, random):
    """An archive with something wrong about it as an archive, and what that is."""
    change = random.choice(list(_CHANGES))
    return _CHANGES[change](list(members), random), f"zip: {change}"


def _without(members, random):
    del members[random.randrange(len(members))]
    return packed(members)


def _doubled(members, random):
    members.insert(random.randrange(len(members) + 1), random.choice(members))
    return packed(members)


def _exchanged(members, random):
    i, j = random.randrange(len(members)), random.randrange(len(members))
    members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    return packed(members)


def _renamed(members, random):
    i = random.randrange(len(members))
    name = random.choice(
        ["", "x", "-1.npy", "00.npy", "../0.npy", "MANIFEST.JSON", "9" * 400 + ".npy", "manifest.json"]
    )
    members[i] = (name, members[i][1])
    return packed(members)


def _added(members, random):
    members.append((random.choice(["more.npy", f"{len(members) + 3}.npy", f"{len(members) - 1}.npy"]), b"more"))
    return packed(members)


def _zeros(members, random):
    i = random.randrange(len(members))
    members[i] = (members[i][0], members[i][1] + bytes(10**6))
    return packed(members, zipfile.ZIP_DEFLATED)


def _cut(members, random):
    i = random.randrange(len(members))
    members[i] = (members[i][0], members[i][1][: random.randrange(len(members[i][1]) + 1)])
    return packed(members)


def _cut_off(members, random):
    data = packed(members)
    return data[: random.randrange(len(data))]


def _flipped(members, random):
    data = bytearray(packed(members))
    for _ in range(random.choice([1, 1, 4, 40])):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def _flipped_in_a_member(members, random):
    """A checksum does not tell: it is of what was flipped."""
    i = random.randrange(len(members))
    content = bytearray(members[i][1])
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    members[i] = (members[i][0], bytes(content))
    return packed(members)


def _header(members, random):
    """The header of an array says something else than there is."""
    i = random.randrange(1, len(members)) if len(members) > 1 else 0
    old, new = random.choice(
        [(b"<f8", b"|O8"), (b"<f8", b"<c8"), (b"<i8", b"<M8"), (b"(3", b"(9"), (b"(", b"(99999999999,"),
         (b"(", b"(-1,"), (b"False", b"True "), (b"<f8", b">f8"), (b"\x93NUMPY\x01", b"\x93NUMPY\x03"), (b"(", b"(0,")]
    )  # fmt: skip
    content = members[i][1].replace(old, new, 1)
    members[i] = (members[i][0], content)
    return packed(members)


def _deep(members, random):
    deep = random.choice([900, 5000, 10**5])
    opened, closed = random.choice([("[", "]"), ('{"a":', "}"), ('{"$tuple":[', "]}")])
    text = f'{{"format": "baserate", "schema": 2, "version": "1", "object": {opened * deep}0{closed * deep}}}'
    return packed([("manifest.json", text), *members[1:]])


def _directory(members, random):
    """A field of an entry in the central directory is overwritten: offsets overlap, sizes are wrong."""
    data = bytearray(packed(members))
    entries, at = [], data.find(b"PK\x01\x02")
    while at >= 0:
        entries.append(at)
        at = data.find(b"PK\x01\x02", at + 4)
    entry, other = random.choice(entries), random.choice(entries)
    field = random.choice([20, 24, 42])  # compressed size, size, offset
    value = random.choice([data[other + field : other + field + 4], struct.pack("<I", 0), b"\xff\xff\xff\xff"])
    data[entry + field : entry + field + 4] = value
    return bytes(data)


_CHANGES = {
    "a member is missing": _without,
    "a member is doubled": _doubled,
    "members are exchanged": _exchanged,
    "a member has another name": _renamed,
    "a member is added": _added,
    "members are compressed": lambda members, _: packed(members, zipfile.ZIP_DEFLATED),
    "a member grows when it is unpacked": _zeros,
    "a member is cut": _cut,
    "the file is cut": _cut_off,
    "bits are flipped": _flipped,
    "bits of a member are flipped": _flipped_in_a_member,
    "the header of an array is another": _header,
    "the directory is wrong": _directory,
    "the manifest is nested": _deep,
}
