"""The command behind `tools/fuzz.py`: many crafted files, what came of them, and where it was stopped."""

import argparse
import json
import math
import os
import time
from collections import Counter
from pathlib import Path

from baserate.state import write_atomically

from .goldens import FOLDERS, goldens
from .mutations import Mutator
from .using import FINE, outcome
from .workers import tried

CHUNK = 100


class Run:
    """The progress of a run, and its findings.

    Parameters
    ----------
    seed : int
        Of the files.
    """

    def __init__(self, seed):
        self.seed = seed
        self.done = set()
        self.kinds = Counter()
        self.failures = Counter()

    @classmethod
    def resumed(cls, path, seed):
        """The run that a file holds, or a new one."""
        run = cls(seed)
        if path is not None and path.exists():
            found = json.loads(path.read_text())
            if found["seed"] != seed:
                raise SystemExit(f"{path} is of the seed {found['seed']}; give --seed {found['seed']}.")
            run.done = set(range(found["first"])) | set(found["more"])
            run.kinds = Counter(found["kinds"])
            run.failures = Counter({(kind, where): n for kind, where, n in found["failures"]})
        return run

    def save(self, path):
        """Write it to a file."""
        first = next(i for i in range(len(self.done) + 1) if i not in self.done)
        found = {
            "seed": self.seed,
            "first": first,
            "more": sorted(i for i in self.done if i >= first),
            "kinds": self.kinds,
            "failures": [[*key, n] for key, n in self.failures.items()],
        }
        write_atomically(path, json.dumps(found).encode())

    def table(self):
        """The lines of the closing summary."""
        cases = sum(self.kinds.values())
        failed = sum(self.failures.values())
        yield f"{'cases':<32}{cases:>9,}"
        yield f"{'refused':<32}{self.kinds['refused']:>9,}"
        yield f"{'accepted, and fine':<32}{self.kinds['fine']:>9,}"
        yield f"{'failures':<32}{failed:>9,}"
        for kind, n in sorted(self.kinds.items(), key=lambda item: -item[1]):
            if kind not in ("refused", "fine"):
                yield f"  {kind:<30}{n:>9,}"
        classes = Counter()
        for (_, where), n in self.failures.items():
            classes[where] += n
        if classes:
            yield "failures by the class that was changed"
        for where, n in classes.most_common():
            yield f"  {where:<30}{n:>9,}"


def keep(folder, number, data, about):
    """Keep a file that failed, and what is known about it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{number}.baserate", data)
    write_atomically(folder / f"{number}.json", json.dumps(about, indent=1).encode())


def replay(path):
    """Try one file in this process, and say what comes of it."""
    found = outcome(path.read_bytes())
    print(f"{found.kind}: {found.said}")
    return 1 if found.failed else 0


def warm_up(valid, folders):
    """Use every valid file once, so that everything is compiled; those that do not work make no sense of the rest."""
    for golden in valid:
        found = outcome(folder_of(golden, folders).read_bytes())
        if found.kind != FINE:
            raise SystemExit(f"the valid state {golden.name} fails: {found.kind}: {found.said}")


def folder_of(golden, folders):
    """Where a valid file is."""
    return next(
        folder / f"{golden.name}.baserate" for folder in folders if (folder / f"{golden.name}.baserate").exists()
    )


def main():
    """Run the command."""
    parser = argparse.ArgumentParser(description="Try crafted state files: each is refused, or works.")
    parser.add_argument("--cases", type=int, default=10**5, help="how many files to try (default: 100000)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so many seconds")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other files (default: 0)")
    parser.add_argument("--only", default="", help="change those valid states whose names begin with this")
    parser.add_argument("--resume", type=Path, help="go on from this file, and keep the run in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per processor)")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder of files that fail")
    parser.add_argument("--replay", type=Path, help="try one file again, and stop")
    options = parser.parse_args()
    if options.replay is not None:
        return replay(options.replay)
    valid = goldens()
    mutator = Mutator(valid, options.seed, options.only)
    print(f"{len(valid)} valid states; compiling ...", flush=True)
    warm_up(valid, FOLDERS)
    run = Run.resumed(options.resume, options.seed)
    began, shown, before = time.monotonic(), 0.0, sum(run.kinds.values())
    left = (i for i in range(math.ceil(options.cases / CHUNK)) if i not in run.done)
    chunks = (range(i * CHUNK, min((i + 1) * CHUNK, options.cases)) for i in left)
    for chunk, found in tried(mutator, chunks, options.jobs, began + options.seconds):
        for number, result in found:
            run.kinds[result.kind] += 1
            if result.failed:
                data, golden, change = mutator.case(number)
                about = {"golden": golden, "change": change, "kind": result.kind, "said": result.said}
                keep(options.keep, f"{options.seed}-{number}", data, about)
                run.failures[result.kind, change.partition(":")[0].partition(".")[0]] += 1
        run.done.add(chunk.start // CHUNK)
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            if options.resume is not None:
                run.save(options.resume)
            n = sum(run.kinds.values())
            speed = (n - before) / (shown - began)
            print(f"{n:,} cases, {speed:.0f} a second, {sum(run.failures.values())} failures", flush=True)
    if options.resume is not None:
        run.save(options.resume)
    print("\n".join(run.table()))
    if run.failures:
        print(f"The files are in {options.keep}; try one again: python tools/fuzz.py --replay FILE")
    return 1 if run.failures else 0
