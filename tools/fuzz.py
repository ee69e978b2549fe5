"""Try crafted state files: each is refused, or loads as an object that works.

A file is one of the valid states in tests/golden and lab/tests/golden with something changed in it. What fails is kept
in a folder, and can be tried again with --replay.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

os.environ["NUMBA_BOUNDSCHECK"] = "1"
# Numba's cache does not tell code that looks at bounds from code that does not.
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".fuzz-cache")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # processes are forked, and threads are not

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from tests.fuzzing.command import main

    sys.exit(main())
