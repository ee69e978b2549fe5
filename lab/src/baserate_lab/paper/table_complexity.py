"""Table: growth of the running time and memory of the trackers."""

import numpy as np

from baserate_lab.paper import printed
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.growth import NOTHING, TRACKERS

ROUNDS = tuple(2**i for i in range(10, 15))
MOST_SEEDS = 3
_POWERS = {"T^2": 2.0, "T log T": 1.0, "T": 1.0, "1": 0.0}


def cells(seeds: int) -> list[PaperCell]:
    """Cells of each tracker with every length."""
    return [
        PaperCell(NOTHING, NOTHING, NOTHING, 0, method, seed, n_rounds=n)
        for method in TRACKERS
        for n in ROUNDS
        for seed in range(min(seeds, MOST_SEEDS))
    ]


def claims(findings: Findings) -> list[Claim]:
    """Claims that time and memory grow no faster than the paper says."""
    found = []
    for method in TRACKERS:
        for metric, growth in (("seconds", "time"), ("bytes", "memory")):
            said = printed.find("table-complexity", dataset="", shift="", variant="", method=method, metric=growth)
            assert said is not None
            text = f"{method}: {growth} grows no faster than the paper's {said.mean_text}."
            means = [list(findings.values(metric, method=method, n_rounds=n).values()) for n in ROUNDS]
            if not all(means):
                found.append(Claim("table-complexity", text, None, "not run"))
                continue
            half = len(ROUNDS) // 2  # the first lengths are the cost of a call, not its growth
            logs = np.log([np.mean(values) for values in means[half:]])
            power = float(np.polyfit(np.log(ROUNDS[half:]), logs, 1)[0])
            evidence = f"measured like T^{power:.2f} from {ROUNDS[half]:,} to {ROUNDS[-1]:,} rounds"
            found.append(Claim("table-complexity", text, power <= _POWERS[said.mean_text] + 0.2, evidence))
    return found


ARTEFACT = Artefact(
    "table-complexity",
    "Running time and memory of the trackers, measured",
    "Table 4 (appendix)",
    "table",
    ("seconds", "bytes"),
    ("variant",),
    cells,
    varying="n_rounds",
    claims=claims,
    note="10 classes; time to follow all rounds on one core, and the size of the state at the end. The paper gives "
    "orders of growth only; its FLH-FTL stores all experts, ours cumulative sums. (Beyond these lengths the sums leave "
    "the processor's cache, and the time of FLH-FTL grows faster: like T^2.5 to 32,768 rounds.)",
)
