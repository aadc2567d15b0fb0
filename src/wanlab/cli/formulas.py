"""LaTeX formulas as a line of Unicode, for terminals: "√(3/2) MSS/(RTT √L)".

pylatexenc converts the symbols. It prints fractions, roots and powers of sums without brackets, which
changes what a formula means, so these are converted here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

SUPERSCRIPTS = dict(zip("0123456789+-=()nit", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵗ", strict=True))
SUBSCRIPTS = dict(
    zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\w|[^\s{}\w]))")
UNDERSCORE = "\ue000"
"""Stands for an underscore that does not begin an index."""
PERCENT = "\ue001"
"""Stands for a percent sign, which would begin a comment."""
BEGIN, END = "\ue002", "\ue003"
"""Stand around a fraction until the symbol after it is known."""
_PLAIN = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"\{,\}", ","),  # 12{,}500
        (r"\\,", " "),
        (r"\\%", PERCENT),
        (r"&", r"\\ \\text{ if }\\ "),  # the lines of \begin{cases}
        (r"\s*\\\\(?:\[\w+\])?", r";\\ "),
        (r"\\[dt]frac(?![a-z])", r"\\frac"),
        (r"\\frac(\d)(\d+|\\[a-z]+|[a-z])", r"\\frac{\1}{\2}"),
        (r"\\frac(\d)\{", r"\\frac{\1}{"),
        (r"\\math(?:it|rm)(?![a-z])", r"\\text"),
        (r"\\_", UNDERSCORE),
        (r"([_^])\\text\{([^{}]*)\}", r"\1{\2}"),
        (r"\\(?:left|right|[bB]ig[lr])(?![a-z])", ""),
        (r"\\bmod(?![a-z])", r"\\ \\text{mod}\\ "),
        (r"\\underbrace\{((?:[^{}]|\{[^{}]*\})*)\}_\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1 (\2)"),
    )
)
"""Rewrites LaTeX that pylatexenc does not know. The text below a brace follows in brackets."""
_FACTOR = re.compile(
    rf"{BEGIN}([^{BEGIN}{END}]*){END}"
    r"(?=\s?(?!Mbit|Gbit|MB|KB)(?:[A-Z\u03b1-\u03c9√]|[a-z](?![a-z]))|\s?\(\d|\()"
)
"""A fraction that is a factor of the symbol or bracket after it, but not of a unit of measurement."""
_SPACES = re.compile(r"\s+")
_OPERATOR = re.compile(r"\s*([=≈≤≥<⇒⟹←±·])\s*")


def as_line(latex: str) -> str:
    """Return a formula as one line of text."""
    for pattern, plain in _PLAIN:
        latex = pattern.sub(plain, latex)
    text = str(_converter().latex_to_text(latex))
    text = _OPERATOR.sub(r" \1 ", _with_scripts(text))
    text = _SPACES.sub(" ", text.replace("{", "").replace("}", "")).replace("( ", "(").strip()
    text = _FACTOR.sub(r"(\1)", text).replace(BEGIN, "").replace(END, "")
    return text.replace(UNDERSCORE, "_").replace(PERCENT, "%")


@cache
def _converter() -> Any:
    """Return pylatexenc's converter with our fractions and roots."""
    from pylatexenc.latex2text import (
        LatexNodes2Text,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    def parts(node: Any, converter: Any) -> list[str]:
        arguments = node.nodeargd.argnlist if node.nodeargd else []
        texts = (
            converter.nodelist_to_text([node]) if node is not None else "" for node in arguments
        )
        return [_without_braces(text) for text in texts]

    def fraction(node: Any, l2tobj: Any) -> str:
        above, below = parts(node, l2tobj)[-2:]
        return f" {BEGIN}{_bracketed(above)}/{_divisor(below)}{END}"

    def root(node: Any, l2tobj: Any) -> str:
        degree, content = (["", *parts(node, l2tobj)])[-2:]
        sign = {"3": "∛", "4": "∜"}.get(degree.strip("[] "), "√")
        return f"{sign}{_bracketed(content)}"

    database = get_default_latex_context_db()
    database.add_context_category(
        "lessons",
        prepend=True,
        macros=[
            MacroTextSpec("frac", simplify_repl=fraction),
            MacroTextSpec("sqrt", simplify_repl=root),
        ],
    )
    return LatexNodes2Text(database, math_mode="text", keep_braced_groups=True)


def _without_braces(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if re.fullmatch(r"\{[^{}]*\}", text) else text


def _bracketed(text: str) -> str:
    """Return the text, in brackets if it is more than one number, name or power."""
    inner = text.strip()
    is_simple = re.fullmatch(r"[\w.,βσμρα]+(?:[\^_]\{?\w+\}?)*", inner) is not None
    return inner if is_simple else f"({inner})"


def _divisor(text: str) -> str:
    """Return the text below a fraction's line: 2X is in brackets there."""
    bracketed = _bracketed(text)
    return f"({bracketed})" if re.match(r"[\d.,]+[^\W\d]", bracketed) else bracketed


def _with_scripts(text: str) -> str:
    """Write powers and indices as small characters where Unicode has all of them."""

    def small(match: re.Match[str]) -> str:
        content = match[2] if match[2] is not None else match[3]
        table = SUPERSCRIPTS if match[1] == "^" else SUBSCRIPTS
        if content and all(letter in table for letter in content):
            return "".join(table[letter] for letter in content)
        if re.fullmatch(r"\w*", content):
            return f"{match[1]}{content}"
        return f"{match[1]}({content})"

    return _SCRIPT.sub(small, text)
