"""The command line."""

import typer

app = typer.Typer()


def main() -> None:
    """Run the command line."""
    app()
