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
