"""Lint what is in deploy/ with the linters that are there: ``python tools/lint_deploy.py``; says what is missing."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"
YAML = "{extends: default, rules: {line-length: {max: 160}, document-start: disable, braces: disable}}"
DOCKERFILE = "dockerfile-utils@0.16.3"


def commands(folder: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield what is linted, the command, and where to get it."""
    unit = folder / "baserate.service"  # the program need not be installed here
    unit.write_text((DEPLOY / unit.name).read_text().replace("/opt/baserate/bin/baserate", f'"{sys.executable}"'))
    yamls = [str(path) for path in sorted(DEPLOY.glob("*.y*ml"))]
    yield "yaml", [sys.executable, "-m", "yamllint", "--strict", "-d", YAML, *yamls], "pip install yamllint"
    yield "unit", ["systemd-analyze", "verify", "--man=no", str(unit)], "apt-get install systemd"
    yield "alerts", ["promtool", "check", "rules", str(DEPLOY / "alerts.yml")], "apt-get install prometheus"
    config = ["promtool", "check", "config", "--syntax-only", str(DEPLOY / "prometheus.yml")]
    yield "prometheus", config, "apt-get install prometheus"
    yield (
        "compose",
        ["docker-compose", "-f", str(DEPLOY / "compose.yaml"), "config", "-q"],
        "apt-get install docker-compose",
    )
    yield "Dockerfile", ["npx", "--yes", DOCKERFILE, "lint", str(DEPLOY / "Dockerfile")], "apt-get install npm"


def main() -> int:
    """Run all linters that there are; return 1 if one of them found something."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, words, source in commands(Path(folder)):
            if shutil.which(words[0]) is None:
                print(f"{what}: not linted, {words[0]} is missing ({source})")
                continue
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if words[0] == "npx" and "npm err" in done.stderr.lower():
                print(f"{what}: not linted, npm cannot fetch {DOCKERFILE}")
                continue
            print(f"{what}: {'fine' if done.returncode == 0 else 'NOT FINE'}")
            if done.returncode != 0:
                print(done.stdout + done.stderr)
                failed = True
    json.loads((DEPLOY / "grafana.json").read_text())
    print("grafana: fine")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
