"""Tables out of rows."""

from baserate.reports.tables import Column, to_html, to_rich


def test_names_are_not_markup():
    rows = [{"group": "g [red]", "name": "<b>[bold]", "hit": True}]
    columns = [Column("<i>", "name", str)]
    page = to_html(rows, columns, caption="a & b", mark="hit")
    assert "&lt;b&gt;" in page
    assert "&lt;i&gt;" in page
    assert "a &amp; b" in page
    first = list(to_rich(rows, columns, group="group", mark="hit").columns[0].cells)
    assert [str(cell).strip() for cell in first] == ["g [red]", "<b>[bold]"]


def test_without_groups_and_marks_a_table_is_its_rows():
    rows = [{"name": "a", "value": 1}, {"name": "b", "value": None}]
    columns = [Column("letter", "name", str), Column("number", "value", str)]
    table = to_rich(rows, columns)
    assert [column.header for column in table.columns] == ["letter", "number", ""]
    assert [[str(cell) for cell in column.cells] for column in table.columns] == [["a", "b"], ["1", "-"], ["", ""]]
    page = to_html(rows, columns, caption="c")
    assert "marked" not in page
    assert "<em>" not in page
