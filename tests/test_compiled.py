"""The door to numba works where nothing can be written."""

import os
import subprocess
import sys
import textwrap

from baserate.compiled import compiled
from baserate.trackers import flhftl


def test_kernels_are_compiled():
    kernel = flhftl._round
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        assert hasattr(kernel, "py_func")
    else:
        assert not hasattr(kernel, "py_func")


@compiled
def _add(a, b):
    return a + b


def test_compiled_functions_are_functions():
    assert _add(2, 3) == 5
    assert _add.__name__ == "_add"


def test_nowhere_to_keep_the_cache():
    """Neither the package's folder nor the home can be written: kernels are compiled anew, and work."""
    script = textwrap.dedent("""
        import numba.core.caching as caching
        for locator in list(caching.CacheImpl._locator_classes):
            locator.from_function = classmethod(lambda cls, function, path: None)
        from baserate.trackers import FLHFTL
        tracker = FLHFTL(2)
        tracker.update([0.2, 0.8])
        print(tracker.predict())
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[0.35 0.65]\n"
