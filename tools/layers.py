"""Check the layers of pyproject.toml with import-linter (its own command fails if a path has spaces)."""

import sys

from importlinter.cli import lint_imports

sys.exit(lint_imports())
