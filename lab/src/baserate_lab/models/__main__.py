"""Train a base model and store its outputs: ``python -m baserate_lab.models DATASET MODEL``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from baserate_lab.models import output_files, trained
from baserate_lab.models.recipes import RECIPES, find

INTERRUPTED = 130

_GOES_ON = "run the same command to resume after the last finished epoch."
_BEGINS_ANEW = "the same command starts over; downloaded data are kept."
_WHEN_STOPPED = {
    **dict.fromkeys(("mlp", "scaled mlp", "normalised mlp", "resnet18"), _GOES_ON),
    "tuned transformer": "run the same command to resume; at most 200 batches are lost.",
    "transformer": "run the same command to resume; embedded texts are kept.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m baserate_lab.models", description=__doc__)
    parser.add_argument("dataset", nargs="?")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and the training (default 0)")
    parser.add_argument("--commit", type=Path, metavar="FOLDER", help="also write the outputs there, for the package")
    parser.add_argument("--list", action="store_true", help="show all data sets and models")
    options = parser.parse_args(arguments)
    if options.list:
        _print_recipes()
        return 0
    if options.dataset is None or options.model is None:
        parser.error("name a data set and a model; --list shows them")
    if options.seed < 0:
        parser.error(f"--seed is {options.seed}; give a whole number of at least 0")
    try:
        recipe = find(options.dataset, options.model)
    except ValueError as error:
        parser.error(str(error))
    if options.commit is not None and options.commit.exists() and not options.commit.is_dir():
        parser.error(f"--commit {options.commit} is a file; name a folder, which is made if it is not there")
    try:
        _train(options.dataset, options.model, options.seed, options.commit)
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; {_WHEN_STOPPED.get(recipe.kind, _BEGINS_ANEW)}\n")
        return INTERRUPTED
    except (OSError, ValueError, ModuleNotFoundError, FloatingPointError) as error:
        sys.stderr.write(f"baserate_lab.models: {error}\n")
        return 1
    return 0


def _train(dataset: str, model: str, seed: int, folder: Path | None) -> None:
    data = trained.outputs_as_bytes(dataset, model, seed=seed)
    found, _ = output_files.from_bytes(data, f"{dataset}-{model}.npz")
    sys.stdout.write(
        f"{dataset} {model}: accuracy {100 * found.accuracy:.2f} % on {len(found.target_y):,} target samples; "
        f"holdout {len(found.holdout_y):,}\n"
    )
    if folder is not None:
        path = output_files.commit(data, dataset, model, folder, seed=seed)
        sys.stdout.write(f"written: {path} ({len(data):,} bytes)\n")


def _print_recipes() -> None:
    table = Table("data set", "model", "kind", "parameters", "note")
    for (dataset, model), recipe in RECIPES.items():
        parameters = ", ".join(f"{name}={value}" for name, value in recipe.parameters.items())
        table.add_row(dataset, model, recipe.kind, parameters, recipe.note)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
