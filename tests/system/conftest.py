"""A browser, if there is one."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("install chromium: apt-get install chromium")
    if found is None:
        pytest.skip("needs a browser; install chromium: apt-get install chromium")
    return found
