"""Test lessons in a terminal: formulas, diagrams, figures, and the pager."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wanlab.cli.drawings import Arrow, as_text, parse
from wanlab.cli.formulas import as_line
from wanlab.cli.lesson_page import ColourPager, for_terminal
from wanlab.labs import catalog

LESSONS = [
    path for name in catalog.names() if (path := catalog.folder_of(name) / "lesson.md").is_file()
]


@pytest.mark.parametrize(
    ("latex", "line"),
    [
        (r"\mathrm{MSS} = \mathrm{MTU} - 40\ \text{bytes}", "MSS = MTU - 40 bytes"),
        (
            r"\sqrt{\tfrac{3}{2}}\ \frac{\mathrm{MSS}}{\mathrm{RTT}\,\sqrt{L}}",
            "√(3/2) MSS/(RTT √L)",
        ),
        (r"10^9 \cdot 0.1/8 = 12{,}500{,}000", "10⁹ · 0.1/8 = 12,500,000"),
        (r"2^{32-8} - 2", "2³²⁻⁸ - 2"),
        (r"\tfrac{3}{4}W_{max}", "(3/4)Wₘₐₓ"),
        (r"\underbrace{\frac{d}{v}}_{\text{path}} + t_\text{queue}", "d/v (path) + t_queue"),
        (r"\text{tcp\_rmem} \ge 2\,\mathrm{BDP}", "tcp_rmem ≥ 2 BDP"),
        (r"K = \sqrt[3]{\frac{0.3\,W_{max}}{C}}", "K = ∛((0.3 Wₘₐₓ)/C)"),
        (r"\frac{\left(\sum_{i=1}^{n} T_i\right)^2}{n}", "((∑ᵢ₌₁ⁿ Tᵢ)²)/n"),
        (r"p = 1\,\% \text{ of all}", "p = 1 % of all"),
        (r"\frac12 - \frac1{2X} - \frac{4N}{q}", "1/2 - 1/(2X) - 4N/q"),
        (r"\frac{1-\beta}{\beta}\; C\cdot RTT", "((1-β)/β) C · RTT"),
        (r"\tfrac12 (0.3 + 0.1)", "(1/2) (0.3 + 0.1)"),
        (r"12{,}000/10^9 = 12", "12,000/10⁹ = 12"),
        (r"\begin{cases}0 & q < a \\[2pt] 1 & q \ge a\end{cases}", "0 if q < a; 1 if q ≥ a"),
    ],
)  # fmt: skip
def test_a_formula_is_a_line_of_unicode(latex: str, line: str) -> None:
    assert as_line(latex) == line


def test_a_long_command_goes_on_in_the_next_line_after_a_backslash() -> None:
    text = "```console\nclient$ sudo tc qdisc add dev s1-eth1 root 'a b' netem delay 10ms\n```\n"
    assert for_terminal(text, "show", 46).splitlines()[1:-1] == [
        "client$ sudo tc qdisc add dev s1-eth1 root \\",
        "    'a b' netem delay 10ms",
    ]
    prompt = f"```console\nmininet> {'h1 ' * 30}\n```\n"
    assert for_terminal(prompt, "show", 46) == prompt


def test_a_chain_of_nodes_is_drawn_as_boxes() -> None:
    drawn = as_text(
        'flowchart LR\n  h1["h1<br>10.0.0.1"] --- s1\n  s1 -- "s1-eth2: 5 ms" --> h2\n', 80
    )
    assert drawn.splitlines() == [
        "┌─────────┐  ┌───┐              ┌───┐",
        "│   h1    │  │s1 │s1-eth2: 5 ms │h2 │",
        "│10.0.0.1 ├──┤   ├─────────────►│   │",
        "└─────────┘  └───┘              └───┘",
    ]


def test_numbers_stand_for_labels_that_make_a_drawing_too_wide() -> None:
    source = 'flowchart LR\n  a["h1"] -- "a long label" --> b["h2"]\n'
    assert as_text(source, 20).splitlines() == [
        "┌───┐(1) ┌───┐",
        "│h1 ├───►│h2 │",
        "└───┘    └───┘",
        "(1) a long label",
    ]


def test_a_diagram_that_cannot_be_drawn_lists_the_arrows_of_each_node_and_group() -> None:
    source = 'flowchart LR\n  a["one (1)"] -- "a long label" --> b\n  b -. back .-> a\n'
    assert as_text(source, 80).splitlines() == [
        "one (1)",
        "  ── a long label ───► b",
        "b",
        "  ┄┄ back ┄┄┄► one (1)",
    ]
    groups = 'flowchart TB\n subgraph N["left"]\n  a --- b\n end\n c --> a\n'
    assert as_text(groups, 80).splitlines() == [
        "c",
        "  ───► a",
        "left:",
        "  a",
        "    ──── b",
    ]


def test_shapes_chains_and_groups_are_read() -> None:
    chart = parse('flowchart LR\n subgraph N["a space"]\n  a((x)) --- b[("y")] -.-> c{z}\n end\n')
    assert chart.nodes == {"a": "x", "b": "y", "c": "z"}
    assert chart.arrows == [Arrow("a", "b", "---"), Arrow("b", "c", "-.->")]
    assert chart.groups == {"a space": ["a", "b", "c"]}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.parent.name)
def test_no_lesson_shows_the_source_of_a_diagram_or_formula(path: Path) -> None:
    """All diagrams and formulas of the course are drawn on a terminal of 80 columns."""
    shown = for_terminal(path.read_text(encoding="utf-8"), "show", 80)
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", shown, flags=re.DOTALL | re.MULTILINE)
    assert "mermaid" not in shown
    assert "![" not in shown
    assert "$$" not in prose
    assert not re.search(r"\\(?:frac|text|mathrm|sqrt|cdot|,)", prose)
    for block in re.findall(r"^```text\n(.*?)^```", shown, re.DOTALL | re.MULTILINE):
        assert "<br" not in block


def test_code_is_not_changed() -> None:
    text = "Type `echo $A $B`:\n\n```console\n$ echo $HOME ![x](y)\n```\n"
    assert for_terminal(text, "show", 80) == text


def test_a_figure_is_named_with_the_command_that_opens_it() -> None:
    shown = for_terminal("![Two windows](two.svg)", "wanlab lab show 7", 80)
    assert shown == "**Figure:** Two windows (`wanlab lab show 7 --figure two` opens it)"


@pytest.mark.parametrize(("before", "passed"), [("", "-R"), ("-S", "-S -R")])
def test_less_is_started_with_colours(tmp_path: Path, before: str, passed: str) -> None:
    less = tmp_path / "less"
    less.write_text(f'#!/bin/sh\necho "$LESS" > {tmp_path}/options\ncat > {tmp_path}/text\n')
    less.chmod(0o755)
    ColourPager({"PATH": f"{tmp_path}:/usr/bin:/bin", "LESS": before}).show("\x1b[1mbold\x1b[0m")
    assert (tmp_path / "options").read_text() == f"{passed}\n"
    assert (tmp_path / "text").read_text() == "\x1b[1mbold\x1b[0m"


def test_without_a_pager_the_lesson_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ColourPager({"PATH": str(tmp_path)}).show("text\n")
    assert capsys.readouterr().out == "text\n"
