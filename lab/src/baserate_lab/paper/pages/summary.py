"""Summary of how far a run agrees with the paper, in counts and sentences."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import OF_THE_MACHINE, Claim, Record
from baserate_lab.paper.pages.run import Reproduction

APART = ("arxiv_titles",)
"""Stand-ins from the same source as the paper's set, whose agreement is counted, but apart from all other numbers."""

READING = {
    "16.02 ± 0.15 (16 ± 0.3)": "our mean and standard deviation over the seeds; in brackets the paper's.",
    "no mark": "the printed number agrees: it lies where one more run of ours would, in the 95 % prediction interval "
    "of a run (Student's, from our seeds), widened by the printed standard deviation and half of the last digit "
    "printed.",
    "*": "it lies in that interval, but the interval reaches more than 3 points (0.1 for squared distances) to either "
    "side, or there is one seed: our runs vary too much to tell, and it does not count as agreeing.",
    "**": "it lies outside: they do not agree.",
    "bold": "the lowest of its column, among the methods that adapt and are told nothing that nobody knows.",
    "MSE to batch labels": "mean squared distance between the class mix that a method used and the label frequencies "
    "of the round, as in the paper; “to true mix” is to the mix that the round was drawn from.",
    "not run": "printed in the paper, not run here.",
    "stand-in": "the paper's data set was not to be had, and another took its place. The paper's number is there for "
    "orientation; it is neither marked nor counted.",
}
"""Explanations of the tables, by term."""


class Count(NamedTuple):
    """Counts of the numbers that both we and the paper have."""

    agree: int
    compared: int
    too_wide: int
    """Number of those that do not count as agreeing because our runs vary too much to tell."""


class Summary(NamedTuple):
    """Agreement of a run with the paper.

    Attributes
    ----------
    total : Count
        Over all data sets.
    datasets : dict of str to Count
        Counts by data set and model, if there is a number to compare.
    differing : dict of str to list of Record
        Records that do not agree, by data set and model, the largest difference first.
    stand_ins : dict of str to (str, int)
        The data set it replaces, and how many numbers are not counted for that reason, by stand-in.
    not_run, of_the_machine, unprinted : int
        Numbers of the paper that were not run; times and sizes, which are not compared; our numbers that the paper does
        not print.
    claims : list of Claim
        All of them.
    seeds : tuple of int
        The least and the most.
    gains : mapping of str to Count
        Counts of gains over the base model by data set and model; they are not in `total`.
    apart : mapping of str to Count
        Counts of the data sets of `APART`, by the same rule; they are in no other count.
    omitted : mapping of str to sequence of str
        Methods that a quick run leaves out, or that need what a user's outputs do not have, by data set and model.
    """

    total: Count
    datasets: dict[str, Count]
    differing: dict[str, list[Record]]
    stand_ins: dict[str, tuple[str, int]]
    not_run: int
    of_the_machine: int
    unprinted: int
    claims: list[Claim]
    seeds: tuple[int, int]
    gains: Mapping[str, Count] = MappingProxyType({})
    omitted: Mapping[str, Sequence[str]] = MappingProxyType({})
    apart: Mapping[str, Count] = MappingProxyType({})

    @property
    def sentence(self) -> str:
        """Outcome in one sentence."""
        agree, compared, too_wide = self.total
        if not compared:
            return "No number of this run can be held against one that the paper prints."
        wide = f"; of {too_wide} our runs vary too much to tell, and they do not count as agreeing" if too_wide else ""
        return f"{agree} of {compared} numbers ({_share(agree, compared)}) agree with the paper's{wide}."

    @property
    def gains_sentence(self) -> str:
        """Sentence on the gains over the base model, which are counted apart from the numbers themselves."""
        agree, compared, too_wide = (sum(count[i] for count in self.gains.values()) for i in range(3))
        if not compared:
            return ""
        wide = f"; of {too_wide} our runs vary too much to tell" if too_wide else ""
        share = _share(agree, compared)
        return (
            f"Of gains over the base model (its error minus a method's), {agree} of {compared} ({share}) agree{wide}."
        )

    @property
    def left_out(self) -> str:
        """Sentence on the numbers that are not counted, and why."""
        parts = []
        if self.stand_ins:
            n = sum(count for _, count in self.stand_ins.values())
            which = [f"{names.dataset(name)} for {names.dataset(of)}" for name, (of, _) in self.stand_ins.items()]
            parts.append(f"{n} on stand-ins ({', '.join(which)})")
        parts += [f"{self.not_run} of the paper that were not run"] if self.not_run else []
        parts += [f"{self.of_the_machine} times or sizes"] if self.of_the_machine else []
        parts += [f"{self.unprinted} of ours that the paper does not print"] if self.unprinted else []
        left = f"Not counted: {'; '.join(parts)}." if parts else ""
        omitted = "; ".join(f"{', '.join(methods)} on {names.problem(of)}" for of, methods in self.omitted.items())
        apart = ", ".join(f"{names.dataset(of)}, {n.agree} of {n.compared}" for of, n in self.apart.items())
        reason = "Left out, because they need features, training, data or an order that are not here: "
        return " ".join(
            part
            for part in (
                "What is printed in several tables is counted in each.",
                left,
                f"Of these, counted apart by the same rule: {apart} agree." if apart else "",
                f"{reason}{omitted}." if omitted else "",
            )
            if part
        )

    @property
    def claims_sentence(self) -> str:
        """Sentence on how many claims hold."""
        if not self.claims:
            return ""
        holds, fails, open_ = (sum(claim.holds is state for claim in self.claims) for state in (True, False, None))
        undecided = f", {open_} undecided" if open_ else ""
        return f"Of the checks below, {holds} hold, {fails} do not hold{undecided}."

    @property
    def seeds_sentence(self) -> str:
        """Sentence on the number of seeds."""
        low, high = self.seeds
        return f"{high}" if low == high else f"{low} to {high}"


def summarise(run: Reproduction) -> Summary:
    """Count everything, artefact by artefact; a number that the paper prints twice counts twice."""
    records = [record for part in run.artefacts for record in part.records if record.metric in part.artefact.metrics]
    judged = [record for record in records if record.judged]
    gains = [record for part in run.artefacts for record in part.gains if record.judged]
    datasets = list(dict.fromkeys(record.problem for record in judged))
    of = {name: [record for record in judged if record.problem == name] for name in datasets}
    differing = {name: [record for record in of[name] if not record.agrees] for name in datasets}
    both = [record for record in records if record.ours_mean is not None and record.paper_mean is not None]
    replaced = [record for record in both if record.stand_in]
    stand_ins = {
        record.dataset: (record.stand_in or "", sum(other.dataset == record.dataset for other in replaced))
        for record in replaced
    }
    seeds = [record.seeds for record in records if record.ours_mean is not None] or [0]
    return Summary(
        total=_count(judged),
        datasets={name: _count(of[name]) for name in datasets},
        differing={
            name: sorted(found, key=lambda record: (record.metric, -abs(record.difference)))
            for name, found in differing.items()
            if found
        },
        stand_ins=stand_ins,
        not_run=sum(record.ours_mean is None and record.paper_mean is not None for record in records),
        of_the_machine=sum(record.comparable and record.metric in OF_THE_MACHINE for record in records),
        unprinted=sum(record.ours_mean is not None and record.paper_mean is None for record in records),
        claims=[claim for part in run.artefacts for claim in part.claims],
        seeds=(min(seeds), max(seeds)),
        gains={name: _count(found) for name in datasets if (found := [r for r in gains if r.problem == name])},
        omitted=_omitted(run),
        apart={
            name: _count(found)
            for name in APART
            if (found := [r for r in replaced if r.dataset == name and r.metric not in OF_THE_MACHINE])
        },
    )


def _omitted(run: Reproduction) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for record in (record for part in run.artefacts for record in part.left_out):
        found.setdefault(record.problem, {})[record.method] = None
    return {name: list(methods) for name, methods in found.items()}


def verdict(claim: Claim) -> str:
    """Verdict on a claim, in words."""
    return "undecided" if claim.holds is None else "holds" if claim.holds else "does not hold"


def why(run: Reproduction, summary: Summary) -> dict[str, str]:
    """Reason for each data set on which numbers do not agree, or that none is known."""
    return {name: run.reasons.get(name, "No reason is known.") for name in summary.differing}


def _count(records: Sequence[Record]) -> Count:
    agree = [record for record in records if record.agrees]
    return Count(len(agree), len(records), sum(record.mark == "*" for record in records))


def _share(part: int, whole: int) -> str:
    # Never rounded up to 100 %.
    return f"{100 * part // whole} %"
