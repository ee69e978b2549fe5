"""Steps of ``baserate reproduce``: from names to cells, results and pages."""

import difflib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from baserate._version import __version__
from baserate.validation import check_integer
from baserate_lab.bench import grid
from baserate_lab.bench.store import Store
from baserate_lab.cache import cache_folder
from baserate_lab.datasets import DataNotFoundError, WrongDataError
from baserate_lab.models.output_files import COMMITTED
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.artefacts import ARTEFACTS
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.machine import machine
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.runs import problems
from baserate_lab.paper.runs.cells import PaperCell, PaperResult
from baserate_lab.paper.runs.growth import TRACKERS
from baserate_lab.paper.runs.learning import LEARNERS
from baserate_lab.paper.runs.methods import METHODS
from baserate_lab.paper.runs.run import PROTOCOL, base_model, run_cell, train_base_model

ALL = "all"
SEEDS, QUICK_SEEDS = 10, 3
_AT_ONCE = ("synthetic",)  # trained in a second, without any download
_EXPECTED = (DataNotFoundError, WrongDataError, ModuleNotFoundError)

Progress = Callable[[str, int], Callable[[], None]]
"""Called with a title and a total; returns the function to call after each step."""


def no_progress(_title: str, _total: int) -> Callable[[], None]:
    """Show no progress."""
    return lambda: None


class Choice(NamedTuple):
    """Selected part of the paper.

    Attributes
    ----------
    artefacts : tuple of Artefact
        Tables and figures.
    data, methods : tuple of str
        Only these; all if empty. A data set may be named as the paper does.
    seeds : int
        Runs of each cell.
    quick : bool
        True: only cells that need neither data nor training.
    """

    artefacts: tuple[Artefact, ...]
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: int = SEEDS
    quick: bool = False

    @property
    def is_whole(self) -> bool:
        """True if nothing of the artefacts is left out."""
        return not (self.data or self.methods or self.quick)

    def cells(self, artefact: Artefact) -> list[PaperCell]:
        """Selected cells of an artefact."""
        found = artefact.cells(self.seeds)
        if self.data:
            found = [cell for cell in found if cell.dataset in self.data]
        if self.methods:
            found = [cell for cell in found if cell.method in self.methods]
        if self.quick:
            found = [cell._replace(model_seed=0) for cell in found if _is_quick(cell)]
        return list(dict.fromkeys(found))


def choose(
    names: Sequence[str],
    *,
    data: Iterable[str] = (),
    methods: Iterable[str] = (),
    seeds: int | None = None,
    quick: bool = False,
) -> Choice:
    """Check the selection; parameters as in `Choice`.

    Parameters
    ----------
    names : sequence of str
        Names of artefacts, or ``all``.
    data, methods, seeds, quick
        As in `Choice`; `seeds` is 10 if not given, 3 if quick.

    Raises
    ------
    ValueError
        If a name is unknown, or nothing is left to run; the message lists the names.
    """
    wanted = [_known(name, [*ARTEFACTS, ALL], "artefact") for name in names]
    if ALL in wanted:
        wanted = list(ARTEFACTS)
    if not wanted:
        raise ValueError(f"name an artefact, or all: {', '.join(ARTEFACTS)}.")
    aliases = {problem.printed: problem.dataset for problem in problems.ALL}
    datasets = dict.fromkeys([*(problem.dataset for problem in problems.ALL), *aliases])
    chosen = Choice(
        tuple(ARTEFACTS[name] for name in dict.fromkeys(wanted)),
        tuple(aliases.get(name, name) for name in (_known(name, list(datasets), "data set") for name in data)),
        tuple(_known(name, [*METHODS, *LEARNERS, *TRACKERS], "method") for name in methods),
        check_integer(seeds, "seeds", 1) if seeds is not None else QUICK_SEEDS if quick else SEEDS,
        quick,
    )
    if not any(chosen.cells(artefact) for artefact in chosen.artefacts):
        raise ValueError("none of these artefacts has such cells; ask for other data, methods, or without quick.")
    return chosen


def reproduce(
    choice: Choice,
    *,
    results: Path | None = None,
    only_kept: bool = False,
    progress: Progress = no_progress,
    command: str = "",
) -> Reproduction:
    """Run the selected cells that have no result yet, and collect all results.

    Cells run in parallel as set by ``joblib.parallel_config``, by default in one process. Ctrl-C loses only the running
    cells.

    Parameters
    ----------
    choice : Choice
        From `choose`.
    results : Path, optional
        Parquet file of the results. Default: in the cache.
    only_kept : bool
        True: run nothing; collect stored results.
    progress : callable, optional
        Shows progress.
    command : str
        Command line, for the report.
    """
    started = time.perf_counter()
    cells = {artefact.name: choice.cells(artefact) for artefact in choice.artefacts}
    store = Store(
        results or default_results(),
        PaperCell,
        PaperResult,
        protocol=PROTOCOL,
        made_by={"baserate": __version__, "machine": machine()},
    )
    missing = [] if only_kept else store.missing(cell for found in cells.values() for cell in found)
    failures = _prepare(missing, progress)
    runnable = [cell for cell in missing if base_model(cell) not in failures]
    done = progress("Cells", len(runnable))
    failed = grid.run_missing(runnable, run_cell, store, expected=_EXPECTED, watch=lambda _: done())
    failed |= {cell: failures[base_model(cell)] for cell in missing if base_model(cell) in failures}
    parts = []
    for artefact in choice.artefacts:
        if cells[artefact.name]:
            findings = Findings(artefact, cells[artefact.name], store.results)
            # Most claims cannot be checked on a part of an artefact.
            claims = [claim for claim in artefact.claims(findings) if claim.holds is not None or choice.is_whole]
            parts.append(ShownArtefact(artefact, findings.records, claims, artefact.timeline(findings)))
    reasons = _reasons([cell for found in cells.values() for cell in found], failed)
    if choice.quick:
        reasons = {name: f"{text} In a quick run all seeds share one network." for name, text in reasons.items()}
    shown = {cell: store.results[cell] for found in cells.values() for cell in found if cell in store.results}
    in_methods = sum(result.seconds for result in shown.values())
    why = list(dict.fromkeys(failure.reason for failure in failed.values()))
    return Reproduction(command, time.perf_counter() - started, parts, reasons, in_methods, why)


def _reasons(cells: Iterable[PaperCell], failed: Mapping[PaperCell, grid.Failure]) -> dict[str, str]:
    """Reasons why the numbers of a data set differ from the paper's, or are missing."""
    found: dict[str, dict[str, None]] = {}
    for dataset, model in dict.fromkeys((cell.dataset, cell.model) for cell in cells):
        problem = problems.find(dataset, model)
        if problem is not None and problem.differs:
            found[f"{dataset} {model}"] = {problem.differs: None}
    for cell, failure in failed.items():
        found.setdefault(f"{cell.dataset} {cell.model}", {})[f"Not all was run: {failure.reason}"] = None
    return {name: " ".join(texts) for name, texts in found.items()}


def default_results() -> Path:
    """Default file of the results."""
    return cache_folder() / "reproduce" / "results.parquet"


def _prepare(cells: Sequence[PaperCell], progress: Progress) -> dict[object, grid.Failure]:
    """Train each base model once, before the cells: parallel cells would each train it."""
    wanted = {key: None for cell in cells if (key := base_model(cell)) is not None}
    # A model with features also has outputs.
    keys = [key for key in wanted if not (not key[-1] and (*key[:-1], True) in wanted)]
    done = progress("Base models", len(keys))
    failures: dict[object, grid.Failure] = {}
    for key, result in grid.each(train_base_model, keys, _EXPECTED):
        if isinstance(result, grid.Failure):
            failures[key] = result
        done()
    return failures


def _is_quick(cell: PaperCell) -> bool:
    """True if a cell needs neither data nor training."""
    key = base_model(cell)
    if key is None:
        return cell.method not in LEARNERS
    dataset, model, _, train_share, with_features = key
    if train_share != PaperCell._field_defaults["train_share"]:
        return False
    return dataset in _AT_ONCE or (not with_features and (COMMITTED / f"{dataset}-{model}.npz").exists())


def _known(name: str, names: Sequence[str], what: str) -> str:
    if name in names:
        return name
    close = [known for known in names if known.lower() == name.lower()] or difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise ValueError(f"there is no {what} {name!r}.{hint} Choose from {', '.join(names)}.")
