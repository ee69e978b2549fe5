"""Tables and pages in Markdown."""

from baserate_lab.paper.pages import markdown

from .made_up import artefact, record


def test_markdown():
    records = [
        record("a|b_c", ours=(2.0, 0.5), paper=(16.0, 0.3), shift="sin"),
        record("FTH", ours=(3.0, 0.5), paper=(3.4, 0.0), seeds=9),
        record("Base", None, (8.0, 1.0)),
    ]
    table = markdown.table(artefact(), records)
    assert table.splitlines() == [
        "MNIST (mlp): Error %",
        "",
        "|  | Sin |",
        "|---|---:|",
        "| Base | not run (8 ± 1) |",
        "| FTH | 3.00 ± 0.50 (3.4 ± 0) |",
        r"| a\|b\_c | **2.00 ± 0.50** (16 ± 0.3) \*\* |",
    ]


def test_markdown_tells_counts_reasons_claims_and_figures(run):
    page = markdown.page(run, {"table-a": "figures/a.svg"})
    assert "| MNIST (mlp) | 2 | 4 | 1 | 1 of 3 | No reason is known. |" in page
    assert "| CIFAR-10 (mlp) | 0 | 1 | 0 | - | Why. |" in page
    # Named where those of all artefacts come together, and not below their own.
    for state, text in (("holds", "a"), ("does not hold", "b"), ("undecided", "c")):
        assert page.splitlines().count(f"- **{state}**: {text}") == 1
        assert f"- **{state}**: `table-a`, {text}" in markdown.summary(run).splitlines()
    assert "![Title of table-a](figures/a.svg)" in page
    assert "`baserate reproduce` in 1 s" in page
    assert "![" not in markdown.page(run)
