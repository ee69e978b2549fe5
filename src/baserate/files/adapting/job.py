"""The job of ``baserate adapt``: its files and options, and the checks that need no file to be read."""

from pathlib import Path
from typing import Any, NamedTuple

from baserate.files.adapting.paths import resolved, same_file
from baserate.files.content import fingerprint
from baserate.files.costs import DecisionOptions
from baserate.files.errors import check_page_name
from baserate.files.formats import check_readable
from baserate.files.rounds import RoundLength
from baserate.files.scales import OutputOptions
from baserate.files.source import Source
from baserate.validation import check_real, warn_user

ROW, PROBABILITY, WHY = "row", "probability", "why"
"""Columns of the file that asks for labels, beside that of ids and that of labels."""
_MOST_WAITING = 10**9  # more do not fit into memory
_MOST_ASKED = 10**6


class ColumnRoles(NamedTuple):
    """The columns that are used beside the probabilities, by what they are used for."""

    labels: str | None = None
    key: str | None = None
    time: str | None = None
    id: str | None = None


class AdaptJob(NamedTuple):
    """One file to adapt, and every option of the command.

    Parameters
    ----------
    stream, out : Source
        The file to read, and the one to write.
    holdout : Source, optional
        Labelled rows; needed unless there is a state.
    rounds_file : path, optional
        The table of rounds.
    state : path, optional
        The state file.
    columns : ColumnRoles
        The columns that are used beside the probabilities.
    rounds : RoundLength
        The length of a round.
    prefix : str
        The prefix of the columns of probabilities.
    names : tuple of str
        The columns of probabilities, where they are named.
    holdout_label : str
        The column of the holdout's labels.
    outputs : OutputOptions
        What the model's outputs are: probabilities, percentages or logits, for each class or one score.
    time_format : str, optional
        The format of time stamps that are neither ISO 8601 nor numbers.
    out_prefix : str
        The prefix of new columns.
    only : bool
        Leave the columns out that are not used.
    wide : bool
        Write the prior and its band into every row.
    level : float
        The level of the bands.
    refit : bool
        Take over the holdout of a redeployed model.
    restart : bool
        Go back to where a file began that was not finished.
    wait : int
        The number of rows to remember for late labels, which find them by their ids.
    late : Source, optional
        Labels that have come for rows of earlier files.
    late_label : str, optional
        Their column. Default: that of the stream's labels, else ``label``.
    late_probability : str, optional
        The column of the probabilities with which they were chosen. Default: that of a file which `ask` wrote; else
        none.
    ask : int, optional
        How many rows to ask labels for.
    ask_file : path, optional
        The file in which to ask for them.
    report : path, optional
        The report that will be written afterwards; here only to check that it is no other file of the run.
    max_bytes : int, optional
        How many bytes the state may take when it is unpacked; see `baserate.load`.
    decisions : DecisionOptions
        The costs or the threshold by which rows are decided.
    """

    stream: Source
    out: Source
    holdout: Source | None = None
    rounds_file: Path | None = None
    state: Path | None = None
    columns: ColumnRoles = ColumnRoles()
    rounds: RoundLength = RoundLength()
    prefix: str = "p_"
    names: tuple[str, ...] = ()
    holdout_label: str = "label"
    outputs: OutputOptions = OutputOptions()
    time_format: str | None = None
    out_prefix: str = "adapted_"
    only: bool = False
    wide: bool = False
    level: float = 0.9
    refit: bool = False
    restart: bool = False
    wait: int = 0
    late: Source | None = None
    late_label: str | None = None
    late_probability: str | None = None
    ask: int | None = None
    ask_file: Path | None = None
    report: Path | None = None
    max_bytes: int | None = None
    decisions: DecisionOptions = DecisionOptions()

    @property
    def resumable(self) -> bool:
        """True if a killed run can be resumed: there is a state, and no pipe, of which nothing can be taken back."""
        return self.state is not None and not self.stream.is_stream and not self.out.is_stream

    @property
    def folders(self) -> set[Path]:
        """The folders of the outputs. Nothing elsewhere is removed or replaced, whatever a state says."""
        places = [None if self.out.is_stream else self.out.path, self.rounds_file, self.ask_file]
        return {resolved(path).parent for path in places if path is not None}

    @property
    def late_labels(self) -> str:
        """The column of labels in a file of late labels, and in one that asks for them."""
        return self.late_label or self.columns.labels or "label"

    def options(self) -> dict[str, Any]:
        """Everything that the output depends on, apart from the files' contents: plain data, by the options' names."""
        given = {
            "--separator": self.stream.separator,
            "--time-format": self.time_format,
            "--late-label": self.late_label,
            "--late-probability": self.late_probability,
            "--ask": self.ask,
            "--ask-file": None if self.ask_file is None else str(resolved(self.ask_file)),
        }
        return {
            **{name: value for name, value in given.items() if value is not None},
            "-o": None if self.out.is_stream else str(resolved(self.out.path)),
            "--out-format": self.out.format.name,
            "--format": self.stream.format.name,
            "--rounds-file": None if self.rounds_file is None else str(resolved(self.rounds_file)),
            **{f"--{name}": column for name, column in self.columns._asdict().items()},
            "--rounds": [self.rounds.rows, self.rounds.seconds],
            "--out-prefix": self.out_prefix,
            "--only": self.only,
            "--wide": self.wide,
            "--level": self.level,
            "--wait": self.wait,
            "--late": None if self.late is None else fingerprint(self.late.path),
            **self.decisions.options(),
        }


def check_job(job: AdaptJob) -> None:
    """Check everything that can be known before a file is read: the options, and the files that they name.

    Every input is checked here, and nowhere else.
    """
    if job.rounds.seconds and job.columns.time is None:
        raise ValueError("--rounds is a length of time; name the column of time stamps with --time.")
    if job.time_format is not None and job.columns.time is None:
        raise ValueError("--time-format is for a column of time stamps; name that with --time.")
    _check_waiting(job)
    _check_asking(job)
    if job.stream.is_stream and job.holdout is not None and job.holdout.is_stream:
        raise ValueError("STREAM and --holdout are both standard input; give a file for one of them.")
    if job.holdout is None and (job.state is None or not job.state.exists()):
        raise ValueError("--holdout is missing; give a file of labelled rows, with the same columns of probabilities.")
    if job.out.is_stream and job.out.format.no_pipe is not None:
        raise ValueError(
            f"-o - cannot be {job.out.format.title}; name a file, or choose another format for standard output."
        )
    check_readable(job.holdout, job.late, job.decisions.table)
    if job.rounds_file is not None and job.rounds_file.suffix.lower() not in ("", ".csv", ".txt"):
        raise ValueError(f"--rounds-file {job.rounds_file}: it is written as CSV; name a file that ends in .csv.")
    _check_outputs(job)
    if job.report is not None:
        check_page_name(job.report, "--report")
    check_real(job.level, "--level", 0.0, 1.0, closed=False)
    check_readable(job.stream)
    if job.holdout is not None and not job.stream.is_stream and same_file(job.stream.path, job.holdout.path):
        warn_user(
            f"{job.stream.shown} is the stream and the holdout, too, so that no class can be seen to have moved. Give "
            "labelled rows from before the stream as --holdout."
        )


def _check_outputs(job: AdaptJob) -> None:
    """Check that every output can be put where it belongs, and replaces no other file of the run."""
    read = (job.stream, job.holdout, job.late, job.decisions.table)
    inputs = [source for source in read if source is not None and not source.is_stream]
    outputs = [
        *([] if job.out.is_stream else [("-o", job.out.path)]),
        *([] if job.rounds_file is None else [("--rounds-file", job.rounds_file)]),
        *([] if job.ask_file is None else [("--ask-file", job.ask_file)]),
        *([] if job.state is None else [("--state", job.state)]),
        *([] if job.report is None else [("--report", job.report)]),
    ]
    for i, (option, path) in enumerate(outputs):
        for source in inputs:
            if same_file(path, source.path):
                raise ValueError(f"{option} {path} is read by this run; name another file.")
        for other, taken in outputs[:i]:
            if same_file(path, taken):
                raise ValueError(f"{option} {path} is the file of {other}, too; name another.")
        if path.is_dir():
            raise ValueError(f"{option} {path} is a folder; name a file.")
        if path.exists() and not path.is_file():
            pipe = "; into a pipe or a device, write with -o -" if option == "-o" else ""
            raise ValueError(f"{option} {path} is a pipe or a device, which cannot be replaced; name a file{pipe}.")
        folder = resolved(path).parent
        if not folder.is_dir():
            shown = path.parent if not path.is_symlink() else folder
            raise ValueError(f"{option} {path}: there is no folder {shown}; make it first, or name another.")


def _check_waiting(job: AdaptJob) -> None:
    for option, column in (("--late-label", job.late_label), ("--late-probability", job.late_probability)):
        if column is not None and job.late is None:
            raise ValueError(f"{option} is a column of the file of --late; name that file, or leave it out.")
    asked = "--late" if job.late is not None else "--wait" if job.wait else None
    if asked is None:
        return
    if not 0 <= job.wait <= _MOST_WAITING:
        raise ValueError(
            f"--wait is {job.wait}; give the number of rows that may wait for their labels, at most {_MOST_WAITING:,}."
        )
    if job.columns.id is None:
        raise ValueError(f"{asked} needs names for the rows, by which labels find them; name their column with --id.")
    if job.columns.key is not None:
        raise ValueError(f"{asked} cannot be used with --key: keys take labels with their rows only (--labels).")
    if job.late is not None and (job.state is None or not job.state.exists()):
        raise ValueError("--late is for rows that wait in a state; name the file of --state that they were kept in.")
    if job.late is not None and job.late.is_stream:
        raise ValueError("--late cannot be standard input; name a file.")


def _check_asking(job: AdaptJob) -> None:
    if job.ask is None:
        if job.ask_file is not None:
            raise ValueError("--ask-file is where --ask writes; say how many rows to ask for, such as --ask 50.")
        return
    if not 1 <= job.ask <= _MOST_ASKED:
        raise ValueError(f"--ask is {job.ask}; give the number of rows to label, from 1 to {_MOST_ASKED:,}.")
    if job.columns.key is not None:
        raise ValueError("--ask cannot be used with --key: keys take labels with their rows only (--labels).")
    if job.columns.id is None:
        raise ValueError("--ask needs names for the rows, by which labels find them; name their column with --id.")
    if job.wait == 0 or job.state is None:
        raise ValueError(
            "--ask needs rows that wait for their labels: say how many with --wait, and in which file with --state."
        )
    if job.ask_file is None:
        raise ValueError("--ask with -o - needs a name for its file; give one with --ask-file.")
    if job.ask_file.suffix.lower() not in ("", ".csv", ".txt"):
        raise ValueError(f"--ask-file {job.ask_file}: it is written as CSV; name a file that ends in .csv.")
    taken = (ROW, PROBABILITY, WHY)
    if job.columns.id in (*taken, job.late_labels) or job.late_labels in taken:
        raise ValueError(
            f"--ask writes the columns {', '.join(taken)} beside {job.columns.id} (--id) and {job.late_labels} "
            "(labels), and two of these have one name; rename the column in STREAM."
        )
