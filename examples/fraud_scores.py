"""A fraud log to try the commands with
====================================

Write made-up files of a fraud model's scores, to try the commands of the README with.

log.csv: three months, labelled, in which fraud rises from 1 % to 8 % and falls to 2 %. labelled.csv and today.csv: its
first month, and a later week without labels. They are written into this folder, or the one that is named:

    python examples/fraud_scores.py
    baserate backtest log.csv --score score --label outcome --positive fraud --costs 1:20 --time when
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

ROWS_A_DAY = 500
DISTANCE = (
    1.8  # of frauds from the rest, in standard deviations of the score's logit: an area under the ROC curve of 0.90
)


def share_of_fraud(day: int) -> float:
    """The truth, which nobody is told: 1 %, from the 40th day 8 %, from the 70th day 2 %."""
    return 0.01 if day < 40 else 0.08 if day < 70 else 0.02


def main() -> None:
    """Make the rows, and write the files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(0)
    rows = []
    for i in range(90 * ROWS_A_DAY):
        fraud = rng.random() < share_of_fraud(i // ROWS_A_DAY)
        seen = rng.normal(DISTANCE * fraud, 1.0)
        log_odds = np.log(0.01 / 0.99) + DISTANCE * (seen - DISTANCE / 2)  # right while fraud is 1 %
        when = datetime(2026, 1, 1) + timedelta(days=1) * i / ROWS_A_DAY
        rows.append((f"{when:%Y-%m-%d %H:%M:%S}", f"{1 / (1 + np.exp(-log_odds)):.6f}", "fraud" if fraud else "good"))
    write(folder / "log.csv", "when,score,outcome", rows)
    write(folder / "labelled.csv", "when,score,outcome", rows[: 30 * ROWS_A_DAY])
    write(folder / "today.csv", "when,score", [row[:2] for row in rows[38 * ROWS_A_DAY : 45 * ROWS_A_DAY]])
    frauds = sum(row[2] == "fraud" for row in rows)
    print(f"log.csv: {len(rows)} rows, {frauds} of them fraud; labelled.csv and today.csv: parts of it")


def write(path: Path, header: str, rows: list) -> None:
    """Write rows as CSV."""
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/fraud.svg"
