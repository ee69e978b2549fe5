"""Look at every page of the built documentation in Chromium: `make look-at-docs`.

Each page is opened at 400 and 1280 pixels, in light and in dark. The command prints pages that scroll
sideways, errors in the console, broken images and links, and what axe-core finds serious; then it ends with status 1.
`--pictures DIR` also saves a screenshot of each.
"""

import argparse
import shutil
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from axe_playwright_python.sync_playwright import Axe
    from tests.system.site import SITE, sweep

    options = argparse.ArgumentParser(description="Look at every page of the built documentation in Chromium.")
    options.add_argument("--pictures", type=Path, help="save a screenshot of each page in this folder")
    pictures = options.parse_args().pictures
    browser = shutil.which("chromium")
    if browser is None or not SITE.exists():
        sys.exit("needs chromium (apt-get install chromium) and the pages (make docs)")
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    faults = sweep(browser, Axe(), pictures, lambda lines: print(lines, flush=True))
    sys.exit(bool(faults))
