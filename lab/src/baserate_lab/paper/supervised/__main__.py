"""Print the tables of the paper's theory with labels, and draw its figure."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from baserate_lab.paper.supervised import calls, figure, identity, marginals, regret, tables


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m baserate_lab.paper.supervised", description=__doc__)
    parser.add_argument("--figure", type=Path, metavar="FILE", help="where to write the figure (.svg or .png)")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds of every part (default: those of the page)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one per core)")
    options = parser.parse_args(arguments)
    if options.seeds is not None and options.seeds < 2:
        parser.error(f"--seeds is {options.seeds}; give 2 at least: slopes have an interval over seeds")

    def seeds(usual: int) -> int:
        return usual if options.seeds is None else int(options.seeds)

    console = Console(width=150, highlight=False)
    errors = marginals.run_marginals(n_seeds=seeds(marginals.N_SEEDS), n_jobs=options.jobs)
    console.print(tables.marginals_table(errors))
    trainings = calls.run_calls(n_seeds=seeds(calls.N_SEEDS), n_jobs=options.jobs)
    console.print(tables.calls_table(trainings))
    console.print(tables.still_table(calls.run_still(n_jobs=options.jobs)))
    disagreements = identity.run_identity(n_seeds=seeds(identity.N_SEEDS), n_jobs=options.jobs)
    console.print(tables.identity_table(disagreements))
    regrets = regret.run_regret(n_seeds=seeds(regret.N_SEEDS), n_jobs=options.jobs)
    console.print(tables.regret_table(regrets))
    if options.figure:
        figure.draw_supervised(errors, trainings, disagreements, regrets, options.figure)


if __name__ == "__main__":
    main()
