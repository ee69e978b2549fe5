"""The door to numba works where nothing can be written."""

import gc
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from baserate.compiled import compiled, compiled_part, compiled_within
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


@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_search_for_garbage_as_it_was(collects):
    @compiled
    def twice(a):
        return 2 * a

    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        assert twice(3) == 6
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()


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


@compiled_within
def _double(a):
    return 2.0 * a


@compiled_part
def _fill(values, a):
    for i in range(len(values)):
        values[i] = max(_double(a), values[i])


@compiled
def _filled(n, a):
    values = np.zeros(n)
    _fill(values, a)
    _fill(values, _double(a))
    return values


def test_parts_work_within_what_calls_them():
    assert _filled(3, 1.5).tolist() == [6.0, 6.0, 6.0]


def test_without_the_parts_of_numba_that_parts_need_they_are_compiled_as_the_rest():
    script = textwrap.dedent("""
        from numba.core.codegen import CPUCodeLibrary
        whole = CPUCodeLibrary._finalize_final_module
        del CPUCodeLibrary._finalize_final_module
        import baserate.compiled
        CPUCodeLibrary._finalize_final_module = whole
        assert not baserate.compiled._PARTS
        from tests.test_compiled import test_parts_work_within_what_calls_them as test
        test()
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
