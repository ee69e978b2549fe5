"""Results in a file: as they were, never lost, and nobody else's."""

import builtins
import math
import sys
from pathlib import Path
from typing import NamedTuple

import polars
import pytest

from baserate_lab.bench import store as module
from baserate_lab.bench.store import Store, StoreError


class Cell(NamedTuple):
    name: str
    seed: int
    share: float = 0.8


class Result(NamedTuple):
    error: float | None
    size: int | None = None
    blocks: list[float] | None = None


FOUND = {
    Cell("a", 0): Result(1.5),
    Cell("b", 1, 0.1 + 0.2): Result(None, 2**40, [0.1, 1 / 3, 2.0]),
    Cell("", 2): Result(math.pi, None, []),
}


def opened(path, protocol=1, **made_by):
    return Store(path, Cell, Result, protocol=protocol, made_by=made_by)


def filled(path, found=FOUND, protocol=1, **made_by):
    store = opened(path, protocol, **made_by)
    for cell, result in found.items():
        store.keep(cell, result)
    store.flush()
    return store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.parquet"


def test_everything_comes_back_as_it_was(path):
    assert dict(filled(path).results) == FOUND
    again = opened(path).results
    assert dict(again) == FOUND
    assert list(again) == list(FOUND)
    for cell, result in again.items():
        assert (type(cell), type(result)) == (Cell, Result)
        assert [type(value) for value in (*cell, *result)] == [type(value) for value in (*cell, *FOUND[cell])]


def test_a_column_may_be_empty_at_first(path):
    nothing = {Cell("a", 0): Result(None), Cell("a", 1): Result(None)}
    filled(path, nothing)
    assert dict(opened(path).results) == nothing
    filled(path, FOUND)
    assert dict(opened(path).results) == nothing | FOUND


def test_one_row_per_cell_tells_what_made_it(path):
    filled(path, {Cell("a", 0): Result(1.0)}, version="0.1")
    filled(path, {Cell("b", 0): Result(2.0)}, protocol=2, version="0.2", machine="abacus")
    assert polars.read_parquet(path).to_dicts() == [
        {"name": "a", "seed": 0, "share": 0.8, "error": 1.0, "size": None, "blocks": None}
        | {"protocol": 1, "version": "0.1", "machine": None},
        {"name": "b", "seed": 0, "share": 0.8, "error": 2.0, "size": None, "blocks": None}
        | {"protocol": 2, "version": "0.2", "machine": "abacus"},
    ]


def test_rows_of_another_protocol_are_kept_but_not_used(path):
    old, new = {Cell("a", 0): Result(1.0)}, {Cell("a", 0): Result(2.0), Cell("b", 0): Result(3.0)}
    filled(path, old, protocol=1)
    store = opened(path, protocol=2)
    assert dict(store.results) == {}
    assert store.missing(old) == [Cell("a", 0)]
    filled(path, new, protocol=2)
    assert dict(opened(path, protocol=1).results) == old
    assert dict(opened(path, protocol=2).results) == new


def test_missing_are_those_not_run_each_once_in_order(path):
    store = opened(path)
    store.keep(Cell("b", 0), Result(1.0))
    asked = [Cell(name, seed) for name, seed in [("c", 1), ("b", 0), ("a", 0), ("c", 1), ("b", 1), ("a", 0)]]
    assert store.missing(iter(asked)) == [Cell("c", 1), Cell("a", 0), Cell("b", 1)]


def test_results_cannot_be_changed_from_outside(path):
    with pytest.raises(TypeError):
        filled(path).results[Cell("x", 0)] = Result(0.0)


def test_the_file_is_made_with_the_first_result_and_its_folder(tmp_path):
    path = tmp_path / "deep" / "er" / "results.parquet"
    store = opened(path)
    store.flush()
    assert list(tmp_path.iterdir()) == []
    store.keep(Cell("a", 0), Result(1.0))
    store.flush()
    assert dict(opened(path).results) == {Cell("a", 0): Result(1.0)}


def test_it_is_written_now_and_then_and_only_if_there_is_something_new(path, monkeypatch):
    clock, written = [100.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module, "write_atomically", lambda *_: written.append(clock[0]))
    store = opened(path)
    for now in (101.0, 102.0, 102.5, 103.0, 104.5, 104.6):
        clock[0] = now
        store.keep(Cell("a", len(written)), Result(1.0))
    assert written == [102.5, 104.6]
    store.flush()
    assert written == [102.5, 104.6]
    store.keep(Cell("b", 0), Result(1.0))
    store.flush()
    assert written == [102.5, 104.6, 104.6]


def test_a_write_that_fails_leaves_the_old_file_and_loses_nothing(path, monkeypatch):
    filled(path, {Cell("a", 0): Result(1.0)})
    before = path.read_bytes()
    store = opened(path)
    store.keep(Cell("b", 0), Result(2.0))
    with monkeypatch.context() as broken:

        def full(*_):
            raise OSError(28, "No space left on device")

        broken.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space"):
            store.flush()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    store.flush()
    assert list(opened(path).results) == [Cell("a", 0), Cell("b", 0)]


def whole(path):
    filled(path)
    return path.read_bytes()


@pytest.mark.parametrize("spoil", [lambda data: b"", lambda data: b"error,seed\n1,2\n", lambda data: data[:-20]])
def test_a_damaged_file_is_named_and_left_alone(path, spoil):
    path.write_bytes(spoil(whole(path)))
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"results\.parquet is not a file of results, or is damaged .*delete it\.$"):
        opened(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("lacking", "rows"), [("error", 3), ("share", 3), ("protocol", 3), ("protocol", 0)])
def test_a_file_of_something_else_is_named_and_left_alone(path, lacking, rows):
    filled(path)
    polars.read_parquet(path).head(rows).drop(lacking).write_parquet(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"it has no column {lacking}\); name another"):
        opened(path)
    assert path.read_bytes() == before


def test_a_field_that_came_later_has_its_default_in_older_files(path):
    filled(path)
    polars.read_parquet(path).drop("blocks").write_parquet(path)
    store = opened(path)
    assert dict(store.results) == {cell: result._replace(blocks=None) for cell, result in FOUND.items()}
    store.keep(Cell("c", 0), Result(1.0, 2, [3.0]))
    store.flush()
    assert opened(path).results[Cell("c", 0)].blocks == [3.0]


def test_a_folder_is_refused_with_a_file_to_name_instead(tmp_path):
    with pytest.raises(StoreError) as refused:
        opened(tmp_path)
    assert str(refused.value) == f"{tmp_path} is a folder; name a file in it, such as {tmp_path / 'results.parquet'}."
    assert list(tmp_path.iterdir()) == []
    assert issubclass(StoreError, ValueError)


def test_without_polars_it_says_so_before_there_is_something_to_lose(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "baserate\[files\]"'):
        opened(path)


def test_a_polars_that_is_broken_is_not_called_missing(path, monkeypatch):
    honest = builtins.__import__

    def broken(name, *arguments):
        if name == "polars":
            raise ModuleNotFoundError("No module named 'its_engine'", name="its_engine")
        return honest(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(ModuleNotFoundError, match="its_engine"):
        opened(path)


def test_two_runs_may_share_a_file(path):
    """Each writes the whole file; what the other has written meanwhile stays."""
    one, other = opened(path, version="1"), opened(path, version="2", machine="abacus")
    one.keep(Cell("a", 0), Result(1.0))
    one.flush()
    other.keep(Cell("b", 0), Result(2.0))
    other.flush()
    one.keep(Cell("c", 0), Result(3.0))
    one.keep(Cell("b", 0), Result(2.0))  # both ran it
    one.flush()
    other.keep(Cell("d", 0), Result(4.0))
    other.flush()
    wanted = {Cell(name, 0): Result(i + 1.0) for i, name in enumerate("abcd")}
    assert dict(opened(path).results) == dict(other.results) == wanted
    assert polars.read_parquet(path)["name"].to_list() == ["a", "b", "c", "d"]


def test_a_file_that_was_deleted_meanwhile_is_written_again(path):
    store = filled(path)
    path.unlink()
    store.keep(Cell("z", 0), Result(0.0))
    store.flush()
    assert dict(opened(path).results) == FOUND | {Cell("z", 0): Result(0.0)}
