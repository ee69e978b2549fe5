"""``python -m baserate``."""

from baserate.cli import main

main()
