from brittlestar.studies.stress.latex import LONGEST, escape, table


def test_special_characters_are_escaped(check_latex):
    text = escape(r"a_b 50% $x$ {y} #1 ~^\ & <z>")
    assert text == (
        r"a\_b 50\% \$x\$ \{y\} \#1 \textasciitilde{}\textasciicircum{}\textbackslash{} \& \textless{}z\textgreater{}"
    )
    cells = check_latex(table([["a_b & {c", None]], ["50 %", "x"], "Of {a} #1_x.", "one"))
    assert cells[1] == [r"a\_b \& \{c", "--"]


def test_long_tables_go_over_pages(check_latex):
    text = table([[str(i), i] for i in range(LONGEST + 1)], ["a", "b"], "Many.", "many")
    assert r"\begin{longtable}" in text and r"\endhead" in text
    assert len(check_latex(text)) == LONGEST + 2
