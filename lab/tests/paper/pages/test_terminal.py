"""Tables on the terminal."""

from rich.console import Console

from baserate_lab.paper.pages import terminal

from .made_up import artefact, big_run, record


def test_the_terminal_shows_it_all_in_eighty_columns():
    console = Console(width=80)
    with console.capture() as captured:
        terminal.show(console, big_run())
    text = captured.get()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "Crop, stand-in for EuroSAT (forest): Error %" in text
    assert "129 of 136 numbers (94 %) agree" in text
    assert "CIFAR-10 (resnet18-narrow)" in text
    assert "A narrower network" in text
    assert "Table 1: Every unsupervised method on every data set." in text
    assert "The networks are narrower than the paper's" in text  # the note
    assert "does not hold: FLH-FTL has the lowest error" in text


def test_names_are_not_markup_in_the_terminal():
    console = Console(width=80)
    with console.capture() as captured:
        for table in terminal.tables(artefact(), [record("[bold]x", dataset="[red]")]):
            console.print(table)
    assert "[bold]x" in captured.get()
    assert "[red]" in captured.get()
