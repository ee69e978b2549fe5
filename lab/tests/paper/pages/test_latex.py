"""Tables in LaTeX."""

import re

from baserate_lab.paper.pages import latex

from .made_up import artefact, big_run, record


def test_latex():
    records = [
        record("R&D_[5%]", ours=(2.0, 0.5), paper=(16.0, 0.3)),
        record("FTH", ours=(3.0, 0.5), paper=None),
        record("Base", None, (8.0, 1.0)),
    ]
    table = latex.table(artefact(title=r"50 % of {x} ~ \y^2"), records)
    lines = table.splitlines()
    assert (
        r"\caption{50 \% of \{x\} \textasciitilde{} \textbackslash{}y\textasciicircum{}2. MNIST (mlp): Error \%.}"
        in lines
    )
    assert lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")] == [
        r"Base & not run \\",
        r" & (8 $\pm$ 1) \\",
        r"FTH & 3.00 $\pm$ 0.50 \\",
        r"R\&D\_{[}5\%{]} & \textbf{2.00 $\pm$ 0.50}\rlap{$^{**}$} \\",
        r" & (16 $\pm$ 0.3) \\",
    ]


def test_latex_is_balanced():
    document = latex.document(big_run())
    opened = re.findall(r"\\begin\{(\w+)\}|\\end\{(\w+)\}", document)
    stack = []
    for begin, end in opened:
        if begin:
            stack.append(begin)
        else:
            assert stack.pop() == end
    assert stack == []
    bare = re.sub(r"\\[\\{}$%&_#]", "", document)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert "%" not in bare
    assert document.isascii()
    for body in re.findall(r"\\begin\{tabular\}\{(l(?:r+))\}(.*?)\\end\{tabular\}", document, re.DOTALL):
        rows = [line for line in body[1].splitlines() if line.endswith(r"\\")]
        assert all(len(re.findall(r"(?<!\\)&", row)) == len(body[0]) - 1 for row in rows)
    labels = re.findall(r"\\label\{(.*?)\}", document)
    assert len(labels) == len(set(labels)) > 16
