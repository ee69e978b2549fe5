"""Trust signals of ten thousand keys of unequal traffic: ``python -m baserate_lab.bench.trust.keys``.

The keys share a model and its holdout. A third of them stand still; of the others, each has a class mix of its own,
which jumps once. A tenth of the keys is broken from the beginning: half of these have noise on the logits that costs
five points of accuracy, the others a class that the model does not know, in one row of ten.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray, IntArray
from baserate.state import dumps
from baserate_lab.bench.efficiency.score_models import ScoreModel
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.never_worse import SIMULATED, holdout_rows
from baserate_lab.bench.trust.ordinary import TWO, UNKNOWN, noise_level
from baserate_lab.models import outputs

Flags = NDArray[np.bool_]

MODELS = ("MNIST", "Fashion", "HAPT", "AUC 0.9", "AUC 0.9, 1 % positives")
HOLDOUT, ROUNDS, BROKEN, LEVEL = 1_000, 40, 0.1, 0.1
MISS = 20.0
"""Cost of a missed positive where these are rare; a false alarm costs one."""
_SPREAD, _FEWEST, _MOST = 1.2, 20, 20_000  # of the logarithm of the rows of a key, and their limits
_POOL = 60_000  # outputs that the rows of all streams are drawn from
GROUPS = (0, 100, 300, 1_000, 3_000)
"""Rows of a key from which on it belongs to the next group."""


class World(NamedTuple):
    """Outputs of a model by class, (k, n, k): as they are, and with noise; of an unknown class, (n, k); the holdout."""

    clean: FloatArray
    noisy: FloatArray
    unknown: FloatArray
    proba: FloatArray
    y: IntArray


class Keys(NamedTuple):
    """Rows of each key in all, whether it is broken and by noise, and its class mixes before and after the jump."""

    rows: IntArray
    broken: Flags
    noisy: Flags
    before: FloatArray
    after: FloatArray
    jump: IntArray


class Played(NamedTuple):
    """For each key: rows, loss of the model alone, of all of the correction and of the default, and evidence.

    Attributes
    ----------
    rows : (m,) array
    losses : (3, m) array
    alarmed, found : (m,) arrays of bool
        Keys with an alarm at any time, and those of `changed_keys`.
    seconds : (2,) array
        For each row: of a bank that is not watched, and of the default.
    memory : (2,) array
        Bytes for each key in a state file.
    """

    rows: FloatArray
    losses: FloatArray
    alarmed: Flags
    found: Flags
    seconds: FloatArray
    memory: FloatArray


def world_of(name: str, rng: np.random.Generator) -> World:
    """Draw a holdout, and pools of each class to draw streams from."""
    if name in TWO:
        distance, share = TWO[name]
        model = ScoreModel(np.array([[0.0], [distance]]), np.array([1.0 - share, share]))
        y = (rng.random(HOLDOUT) < share).astype(np.int64)
        y[:2] = 1
        proba = model.outputs(y, rng)
        pool_y = (rng.random(_POOL) < share).astype(np.int64)
        pool, unknown = model.outputs(pool_y, rng), np.empty((0, 2))
        noise = noise_level(np.log(pool), pool_y, rng)
        each = np.repeat(np.arange(2), _POOL // 2)
        clean = model.outputs(each, rng)
        spread = float(noise.std())
    else:
        found = outputs(*SIMULATED[name], progress=False)
        all_proba = np.concatenate([found.holdout_proba, found.target_proba]).astype(np.float64)
        all_y = np.concatenate([found.holdout_y, found.target_y])
        left_out = all_proba.shape[1] - 1
        kept = np.delete(all_proba, left_out, axis=1)
        kept /= kept.sum(axis=1, keepdims=True)
        unknown, pool, pool_y = kept[all_y == left_out], kept[all_y != left_out], all_y[all_y != left_out]
        order = rng.permutation(len(pool_y))
        held = order[holdout_rows(pool_y[order], HOLDOUT, left_out, rng)]
        proba, y = pool[held], pool_y[held]
        free = np.setdiff1d(order, held)
        spread = float(noise_level(np.log(np.maximum(pool[free], 1e-6)), pool_y[free], rng).std())
        each = np.repeat(np.arange(left_out), _POOL // left_out)
        rows = np.concatenate([rng.choice(free[pool_y[free] == c], _POOL // left_out) for c in range(left_out)])
        clean = pool[rows]
    logits = np.log(np.maximum(clean, 1e-6))
    noisy = softmax(logits + spread * rng.standard_normal(logits.shape), axis=1)
    k = clean.shape[1]
    if name in TWO:  # far from the others, on the side of the second
        scores = 2.0 * distance + 0.5 * rng.standard_normal(_POOL // 2)
        centres = model.centres[:, 0]
        unknown = softmax(np.outer(scores, centres) - 0.5 * centres**2 + np.log(model.source), axis=1)
    return World(clean.reshape(k, -1, k), noisy.reshape(k, -1, k), unknown, proba, y)


def keys_of(name: str, world: World, n: int, median: int, rng: np.random.Generator) -> Keys:
    """Draw keys."""
    k = world.clean.shape[0]
    source = np.bincount(world.y, minlength=k) / len(world.y)
    rows = np.clip(median * np.exp(_SPREAD * rng.standard_normal(n)), _FEWEST, _MOST).astype(np.int64)
    broken = rng.random(n) < BROKEN
    mixes = []
    for _ in range(2):
        if name in TWO and TWO[name][1] < 0.1:
            share = np.exp(rng.uniform(np.log(0.003), np.log(0.1), n))
            mixes.append(np.column_stack([1.0 - share, share]))
        else:
            mixes.append(rng.dirichlet(np.ones(k), n))
    still = rng.random(n) < 1.0 / 3.0
    before, after = (np.where(still[:, np.newaxis], source, mix) for mix in mixes)
    return Keys(rows, broken, broken & (rng.random(n) < 0.5), before, after, rng.integers(ROUNDS // 4, ROUNDS, n))


def draw_round(world: World, keys: Keys, t: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray, IntArray]:
    """The rows of a round: their keys, outputs and labels; -1 is the unknown class."""
    mix = np.where((t < keys.jump)[:, np.newaxis], keys.before, keys.after)
    key = np.repeat(np.arange(len(keys.rows)), rng.poisson(keys.rows / ROUNDS))
    rng.shuffle(key)
    y = (rng.random((len(key), 1)) > mix.cumsum(axis=1)[key, :-1]).sum(axis=1)
    at = rng.integers(world.clean.shape[1], size=len(key))
    proba = np.where(keys.noisy[key][:, np.newaxis], world.noisy[y, at], world.clean[y, at])
    odd = (keys.broken & ~keys.noisy)[key] & (rng.random(len(key)) < UNKNOWN)
    proba[odd] = world.unknown[rng.integers(len(world.unknown), size=int(odd.sum()))]
    return key, proba, np.where(odd, -1, y)


def _loss(name: str, proba: FloatArray, y: IntArray) -> FloatArray:
    """The loss of each row: 1 for an error; where positives are rare, their cost. Unknown rows have none."""
    if name in TWO and TWO[name][1] < 0.1:
        called = proba[:, 1] >= 1.0 / (1.0 + MISS)
        return np.asarray(np.where(y == 1, MISS * ~called, np.where(y == 0, called, 0.0)))
    return np.asarray((proba.argmax(axis=1) != y) & (y >= 0), dtype=np.float64)


def play(name: str, n: int, median: int, seed: int) -> tuple[Keys, Played]:
    """Play all rounds of all keys."""
    rng = np.random.default_rng([seed, 31])
    world = world_of(name, rng)
    keys = keys_of(name, world, n, median, rng)
    alone = Bank(RegressAndReweight(gate=False, alpha=None).fit(world.proba, world.y))
    watched = Bank(RegressAndReweight().fit(world.proba, world.y))
    rows, losses, seconds = np.zeros(n), np.zeros((3, n)), np.zeros(2)
    alarmed = np.zeros(n, dtype=bool)
    for t in range(ROUNDS):
        key, proba, y = draw_round(world, keys, t, rng)
        shown = [proba]
        for i, bank in enumerate((alone, watched)):
            begin = time.perf_counter()
            step = bank.step(key, proba)
            seconds[i] += (time.perf_counter() - begin) * (t > 0)  # in the first round, code is compiled
            shown.append(step.proba)
        rows += np.bincount(key, minlength=n) * (t > 0)
        for i, predicted in enumerate(shown):
            losses[i] += np.bincount(key, weights=_loss(name, predicted, y), minlength=n)
        alarmed[np.array(step.keys, dtype=np.int64)[step.signs.alarm]] = True
    timed = seconds / rows.sum()
    alarmed[np.array(watched.keys, dtype=np.int64)[watched.signs().alarm]] = True
    found = np.zeros(n, dtype=bool)
    found[np.array(watched.changed_keys(LEVEL), dtype=np.int64)] = True
    memory = np.array([len(dumps(bank)) / len(bank) for bank in (alone, watched)])
    return keys, Played(rows, losses, alarmed, found, timed, memory)


def table(name: str, keys: Keys, played: Played) -> list[list[str]]:
    """A row for each group of keys by traffic, calm or broken."""
    group = np.searchsorted(GROUPS, keys.rows, side="right") - 1
    kinds = {"calm": ~keys.broken, "noise": keys.noisy}
    kinds["unknown class"] = ~kinds["calm"] & ~kinds["noise"]
    rows = []
    for kind, chosen in kinds.items():
        for g, least in enumerate(GROUPS):
            here = chosen & (group == g)
            if not here.any():
                continue
            total = played.rows[here].sum()
            base, ungated, gated = 100.0 * played.losses[:, here].sum(axis=1) / total
            gain = base - ungated
            rows.append(
                [
                    name,
                    kind,
                    f"{least:,} or more" if g == len(GROUPS) - 1 else f"{least:,} to {GROUPS[g + 1]:,}",
                    f"{here.sum():,}",
                    f"{100 * played.alarmed[here].mean():.1f}",
                    f"{100 * played.found[here].mean():.1f}",
                    *(f"{loss:.2f}" for loss in (base, ungated, gated)),
                    f"{gated - base:+.2f}",
                    f"{100 * (base - gated) / gain:.0f}" if gain > 0.2 else "",
                ]
            )
    return rows


def summary(name: str, keys: Keys, played: Played) -> str:
    """A sentence on discoveries, cost and memory."""
    broken, found = keys.broken, played.found
    calm = ~broken
    gains = played.losses[0] - played.losses[1], played.losses[0] - played.losses[2]
    false = (found & calm).sum()
    kept = 100 * gains[1][calm].sum() / gains[0][calm].sum()
    per_row = 1e6 * played.seconds
    return (
        f"{name}: of {broken.sum():,} broken keys of {len(broken):,}, {(found & broken).sum():,} found, and {false:,} "
        f"false ({100 * false / max(found.sum(), 1):.1f} % of those found); with an alarm at any time "
        f"{100 * played.alarmed[calm].mean():.1f} % of the calm. Of the gain of calm keys, {kept:.1f} % is kept. A row "
        f"takes {per_row[1]:.2f} microseconds, {per_row[1] / per_row[0]:.2f} times that of a bank that is not watched; "
        f"a key takes {played.memory[1]:,.0f} bytes in a file, not watched {played.memory[0]:,.0f}."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--median", type=int, default=400, help="rows of the median key")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    cells, said = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in asked.models:
            played = play(name, asked.keys, asked.median, asked.seed)
            cells += table(name, *played)
            said.append(summary(name, *played))
    head = ["model", "keys", "rows", "number", "alarm %", "found %", "base", "ungated", "gated"]
    print("\n\n".join([to_markdown([*head, "gated - base", "kept %"], cells, text=(0, 1, 2)), *said]))  # noqa: T201


if __name__ == "__main__":
    main()
