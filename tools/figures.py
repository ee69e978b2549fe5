"""Draw the figures of the documentation, from code and data of this repository: `make figures`.

Each function in `tools/drawing` draws one file of docs/images. Name some to draw only those:
`python tools/figures.py spam fraud`.
"""

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).resolve().parent))
from drawing import estimates, following, stories, trusting

FIGURES = (
    stories.spam,
    stories.fraud,
    stories.reaction,
    stories.few_labels,
    estimates.reweighting,
    estimates.calibration,
    estimates.sightings,
    following.online_regression,
    following.low_switching,
    following.mixture,
    following.near_maximum_likelihood,
    following.hindsight,
    trusting.trust_signals,
    trusting.accuracy,
    trusting.labels_choose,
)


def main(names: list[str]) -> None:
    """Draw the figures that are named, or all."""
    mpl.rcParams["svg.hashsalt"] = "baserate"
    unknown = set(names) - {draw.__name__ for draw in FIGURES}
    if unknown:
        sys.exit(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(draw.__name__ for draw in FIGURES)}")
    for draw in FIGURES:
        if not names or draw.__name__ in names:
            draw()


if __name__ == "__main__":
    main(sys.argv[1:])
