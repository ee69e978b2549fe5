"""Build both distributions, check them, and try each in a fresh environment: `make release`. Nothing is uploaded."""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def run(*words: str | Path) -> None:
    """Run a command; end if it fails."""
    print("$", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, cwd=tempfile.gettempdir())


def five_lines() -> str:
    """The README's example, without what it prints: its first four blocks with prompts."""
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line[4:] for block in blocks for line in block.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(lines)


def try_wheel(wheels: list[Path], script: str) -> None:
    """Install wheels into a fresh environment and run a script there, away from the source."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        run(python, "-m", "pip", "--disable-pip-version-check", "-qq", "install", *wheels)
        run(python, "-m", "pip", "--disable-pip-version-check", "check")
        run(python, "-c", script)
        run(Path(folder) / "bin" / "baserate", "--help")


def main() -> None:
    """Build, check, try."""
    for old in DIST.glob("baserate*") if DIST.exists() else ():
        old.unlink()
    for folder in (ROOT, ROOT / "lab"):
        run(sys.executable, "-m", "build", "--outdir", DIST, folder)
    files = sorted(DIST.glob("baserate*"))
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    (product,) = DIST.glob("baserate-*.whl")
    (lab,) = DIST.glob("baserate_lab-*.whl")
    try_wheel([product], five_lines())
    try_wheel([product, lab], five_lines() + "\nfrom baserate_lab.models import outputs\noutputs('mnist', 'forest')")
    for file in files:
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
