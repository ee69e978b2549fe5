"""Results behind an artefact: by seed, and as records beside the paper's numbers."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.paper import printed
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages.records import GAIN, Record
from baserate_lab.paper.runs import problems
from baserate_lab.paper.runs.cells import PaperCell, PaperResult

_SHORT = {"marginal": "marginal", "batch_size": "batch", "train_share": "train", "n_rounds": "rounds"}
_FIELDS = {"minutes": "seconds"}  # metrics that are fields of a result in another unit
_SCALE = {"minutes": 1 / 60}


class Findings:
    """Results of one artefact.

    Parameters
    ----------
    artefact : Artefact
        The table or figure.
    cells : sequence of PaperCell
        The cells that were asked for.
    results : mapping of PaperCell to PaperResult
        The results of those that were run.
    unprinted : bool
        True: also records of groups that were not run and of which the paper prints nothing.
    """

    def __init__(
        self,
        artefact: Artefact,
        cells: Sequence[PaperCell],
        results: Mapping[PaperCell, PaperResult],
        *,
        unprinted: bool = False,
    ) -> None:
        self.artefact = artefact
        self._unprinted = unprinted
        self._groups: dict[PaperCell, dict[int, PaperResult]] = {}
        for cell in cells:
            found = self._groups.setdefault(cell._replace(seed=0, model_seed=0), {})
            if cell in results:
                found[cell.seed] = results[cell]

    @cached_property
    def records(self) -> list[Record]:
        """Records, one per group of seeds and metric."""
        return [
            record
            for group, found in self._groups.items()
            for metric in self.artefact.metrics
            if (record := self._record(group, found, metric)) is not None
        ]

    @cached_property
    def gains(self) -> list[Record]:
        """Gains over the base model where we and the paper have both errors: means of differences on the same streams.

        The paper prints no gains: they are differences of printed means, and the spread is that of independent numbers.
        """
        printed_errors = [r for r in self.records if r.metric == "error" and r.comparable]
        groups = {self._record_key(group): found for group, found in self._groups.items()}
        base_of = {self._record_key(r)[1:]: r for r in printed_errors if r.method == "Base"}
        gains = []
        for record in printed_errors:
            base = base_of.get(self._record_key(record)[1:])
            if base is None or record.method == "Base":
                continue
            ours = [_values(groups[self._record_key(r)], "error") for r in (base, record)]
            gap = paired(*ours)
            assert base.paper_mean is not None
            assert record.paper_mean is not None
            if len(gap) == 0:
                continue
            digits = None if record.digits is None or base.digits is None else min(record.digits, base.digits)
            gains.append(
                record._replace(
                    metric=GAIN,
                    ours_mean=float(gap.mean()),
                    ours_std=float(gap.std()),
                    seeds=len(gap),
                    paper_mean=base.paper_mean - record.paper_mean,
                    paper_std=math.hypot(base.paper_std or 0.0, record.paper_std or 0.0),
                    digits=digits,
                )
            )
        return gains

    def _record_key(self, of: PaperCell | Record) -> tuple[Any, ...]:
        """Method first, and everything else that tells groups of seeds apart."""
        if isinstance(of, Record):
            return of.method, of.dataset, of.model, of.shift, of.holdout, of.variant
        return of.method, of.dataset, of.model, of.shift, of.holdout or None, self._variant(of)

    def _variant(self, group: PaperCell) -> str:
        varying = self.artefact.varying
        return f"{_SHORT[varying]}={getattr(group, varying)}" if varying else ""

    def values(self, metric: str, **fields: Any) -> dict[int, float]:
        """Values of a metric by seed, for the one group with these fields; empty if it was not run.

        Parameters
        ----------
        metric : str
            As in a record.
        **fields
            Fields of a cell, enough to tell the groups apart.
        """
        fitting = [
            found
            for group, found in self._groups.items()
            if all(getattr(group, name) == value for name, value in fields.items())
        ]
        if len(fitting) > 1:
            raise ValueError(f"{len(fitting)} groups of {self.artefact.name} have {fields}; name more fields.")
        return {} if not fitting else _values(fitting[0], metric)

    def groups(self) -> list[PaperCell]:
        """The cells, without their seeds."""
        return list(self._groups)

    def results(self, group: PaperCell) -> dict[int, PaperResult]:
        """The results of a group by seed."""
        return self._groups[group]

    def _record(self, group: PaperCell, found: dict[int, PaperResult], metric: str) -> Record | None:
        name, varying = self.artefact.name, self.artefact.varying
        variant = self._variant(group)
        problem = problems.find(group.dataset, group.model)
        tables = (
            printed.find(
                table,
                dataset=problem.printed if problem else group.dataset,
                shift=group.shift,
                variant=variant if varying == "marginal" else "",
                method=group.method,
                metric=metric,
            )
            for table in (name, *self.artefact.beside)
        )
        said = next((cell for cell in tables if cell is not None), None)
        values = np.array(list(_values(found, metric).values()))
        if len(values) == 0 and said is None and not self._unprinted:
            return None
        return Record(
            name,
            group.dataset,
            group.model,
            group.shift,
            group.holdout or None,  # learners have no holdout
            group.method,
            metric,
            float(values.mean()) if len(values) else None,
            float(values.std()) if len(values) else None,
            len(values),
            said.mean if said else None,
            said.std if said else None,
            problem.stand_in if problem else None,
            variant,
            len(said.mean_text.partition(".")[2]) if said and said.mean is not None else None,
        )


def _values(found: Mapping[int, PaperResult], metric: str) -> dict[int, float]:
    field, scale = _FIELDS.get(metric, metric), _SCALE.get(metric, 1.0)
    raw = {seed: getattr(result, field) for seed, result in sorted(found.items())}
    return {seed: scale * value for seed, value in raw.items() if value is not None}


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> FloatArray:
    """Differences, first minus second, over the seeds that both have."""
    return np.array([first[seed] - second[seed] for seed in first if seed in second])
