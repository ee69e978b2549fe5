"""Progress is shown on terminals alone."""

from baserate.commands.progress import progress_bars


def test_where_there_is_no_terminal_there_is_no_bar(in_an_empty_folder, capsys):
    with progress_bars() as progress:
        task = progress.add_task("Counting", total=2)
        progress.advance(task)
    assert capsys.readouterr() == ("", "")
