"""Prove what the integration with Spark promises, with full counts; the results go into a file of JSON."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.proving.spark.command import main

    sys.exit(main())
