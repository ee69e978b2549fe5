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
from baserate_lab.models.output_files import COMMITTED, file_name
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.artefacts import ARTEFACTS
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.machine import machine
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.runs import problems
from baserate_lab.paper.runs.cells import REAL, PaperCell, PaperResult
from baserate_lab.paper.runs.growth import TRACKERS
from baserate_lab.paper.runs.learning import LEARNERS
from baserate_lab.paper.runs.methods import METHODS
from baserate_lab.paper.runs.own import OWN, OwnOutputs, read
from baserate_lab.paper.runs.problems import PaperProblem
from baserate_lab.paper.runs.run import PROTOCOL, base_model, run_cell, train_base_model

ALL = "all"
SEEDS, QUICK_SEEDS = 10, 3
_AT_ONCE = ("synthetic",)  # trained in a second, without any download
_NOTE_ON_OWN = (
    "The methods of this artefact on the outputs {}, in the place of the paper's data; nothing is printed of them. The "
    "small holdout is 2 % of theirs, or ten samples a class if that is more."
)
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
    instead : tuple of (PaperProblem, PaperProblem)
        Problems of the artefacts, each with one to run in its place: real data for a stand-in, or the network of the
        text for the one that was run.
    outputs : str
        Name of a user's own outputs (from `own.take`), which take the place of every data set; empty if there are none.
    """

    artefacts: tuple[Artefact, ...]
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: int = SEEDS
    quick: bool = False
    instead: tuple[tuple[PaperProblem, PaperProblem], ...] = ()
    outputs: str = ""

    @property
    def is_whole(self) -> bool:
        """True if nothing of the artefacts is left out."""
        return not (self.data or self.instead or self.methods or self.quick or self.outputs)

    def cells(self, artefact: Artefact) -> list[PaperCell]:
        """Selected cells of an artefact."""
        found = [cell for cell in self._named(artefact) if self._can_run(cell)]
        if self.outputs:
            own = problems.of_own_outputs(self.outputs)
            found = [_moved(cell, problem, own) for cell in found if (problem := _problem(cell)) is not None]
        elif self.quick:
            found = [cell._replace(model_seed=0) for cell in found]
        return list(dict.fromkeys(found))

    def left_out(self, artefact: Artefact) -> list[PaperCell]:
        """Cells that would be run without `quick`, or if the user's outputs had what they need."""
        found = [cell for cell in self._named(artefact) if not self._can_run(cell)]
        if self.outputs:
            own = problems.of_own_outputs(self.outputs)
            found = [_moved(cell, problem, own) for cell in found if (problem := _problem(cell)) is not None]
        return list(dict.fromkeys(found))

    def _named(self, artefact: Artefact) -> list[PaperCell]:
        """The cells of the data and methods that were named."""
        found = artefact.cells(self.seeds)
        if self.data or self.instead:
            instead = [
                _moved(c, problem, other) for problem, other in self.instead for c in found if _is_of(c, problem)
            ]
            found = [cell for cell in found if cell.dataset in self.data] + instead
        if self.methods:
            found = [cell for cell in found if cell.method in self.methods]
        return found

    def _can_run(self, cell: PaperCell) -> bool:
        if self.outputs:
            return _is_for_outputs(cell, read(self.outputs))
        return not self.quick or _is_quick(cell)


def choose(
    names: Sequence[str],
    *,
    data: Iterable[str] = (),
    methods: Iterable[str] = (),
    seeds: int | None = None,
    quick: bool = False,
    outputs: str = "",
    at_hand: Callable[[str], bool] = lambda _: False,
) -> Choice:
    """Check the selection; parameters as in `Choice`.

    Parameters
    ----------
    names : sequence of str
        Names of artefacts, or ``all``.
    data, methods, seeds, quick, outputs
        As in `Choice`; `seeds` is 10 if not given, 3 if quick.
    at_hand : callable
        Whether a data set of the paper that has a stand-in can be had; if so, it is used instead.

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
    named = [_known(name, _data_names(), "data set") for name in data]
    if outputs and named:
        raise ValueError("outputs take the place of all data sets; name no data beside them.")
    instead, wanted_data = [], []
    for name in dict.fromkeys(named):
        problem, other = problems.REAL.get(name, (None, None))
        if problem is not None and other is not None and (other.dataset == problem.dataset or at_hand(other.dataset)):
            instead += [(each, other) for each in (problem, *problems.ALSO.get(problem, ()))]
        elif name in problems.WITHOUT_STAND_IN:
            raise ValueError(
                f"{name} is not at hand, and nothing stands in for it; put its files into the folder {name} of the one "
                "that the environment variable BASERATE_DATA names."
            )
        else:
            wanted_data.append(problem.dataset if problem is not None else name)
    chosen = Choice(
        tuple(ARTEFACTS[name] for name in dict.fromkeys(wanted)),
        tuple(wanted_data),
        tuple(_known(name, [*METHODS, *LEARNERS, *TRACKERS], "method") for name in methods),
        check_integer(seeds, "seeds", 1) if seeds is not None else QUICK_SEEDS if quick else SEEDS,
        quick,
        tuple(instead),
        outputs,
    )
    if not any(chosen.cells(artefact) for artefact in chosen.artefacts):
        raise ValueError("none of these artefacts has such cells; ask for other data, methods, or without quick.")
    return chosen


def _data_names() -> list[str]:
    """All names of data sets: ours, the paper's, and those of other networks."""
    return list(dict.fromkeys([*(problem.dataset for problem in problems.ALL), *problems.REAL]))


def _is_of(cell: PaperCell, problem: PaperProblem) -> bool:
    return (cell.dataset, cell.model) == (problem.dataset, problem.model)


def _moved(cell: PaperCell, problem: PaperProblem, other: PaperProblem) -> PaperCell:
    """The cell of another problem in the place of this one, with the corresponding size of holdout."""
    sizes = {problem.small: other.small, problem.full: other.full}
    return cell._replace(
        dataset=other.dataset,
        model=other.model,
        holdout=sizes.get(cell.holdout, min(cell.holdout, other.full)),
        model_seed=other.network(cell.seed),
    )


def _problem(cell: PaperCell) -> PaperProblem | None:
    return problems.find(cell.dataset, cell.model)


def _is_for_outputs(cell: PaperCell, outputs: OwnOutputs) -> bool:
    """True if a cell can be run on a user's outputs: it trains no model, and they have the features or the order."""
    key = base_model(cell)
    if key is None or _problem(cell) is None or key[3] != PaperCell._field_defaults["train_share"]:
        return False
    return (not key[4] or outputs.layer is not None) and (cell.shift != REAL or outputs.in_time_order)


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
            shown_artefact = artefact
            if choice.outputs:
                claims = []  # the paper claims nothing about them
                shown_artefact = artefact._replace(note=_NOTE_ON_OWN.format(choice.outputs))
            left = Findings(artefact, choice.left_out(artefact), {}, unprinted=True).records
            timeline = artefact.timeline(findings)
            parts.append(ShownArtefact(shown_artefact, findings.records, claims, timeline, left, findings.gains))
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
    if dataset == OWN:
        return True
    if train_share != PaperCell._field_defaults["train_share"]:
        return False
    return dataset in _AT_ONCE or (not with_features and (COMMITTED / file_name(dataset, model, 0)).exists())


def _known(name: str, names: Sequence[str], what: str) -> str:
    if name in names:
        return name
    close = [known for known in names if known.lower() == name.lower()] or difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise ValueError(f"there is no {what} {name!r}.{hint} Choose from {', '.join(names)}.")
