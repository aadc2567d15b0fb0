"""Links between Markdown files work, and their code blocks of Python compile."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {"node_modules", "results", "dist", "build"}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def pages() -> list[Path]:
    """Return all Markdown files of this checkout, without those in hidden folders."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
    return sorted(path for path in found if not any(map(_is_not_ours, path.parts)))


def _is_not_ours(part: str) -> bool:
    return part in NOT_OURS or part.startswith(".")


def links(text: str) -> list[str]:
    """Return the targets of all links outside code."""
    prose = CODE.sub("", FENCE.sub("", text))
    return LINK.findall(prose) + REFERENCE.findall(prose)


def anchors(text: str) -> set[str]:
    """Return the anchors of all headings, in the form that GitHub gives them."""
    plain = (
        re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(FENCE.sub("", text))
    )
    return {title.replace(" ", "-") for title in plain}


def problem_with(link: str, page: Path) -> str | None:
    """Return why a link is broken; None if it works or leads to the web."""
    if re.match(r"[a-z]+:", link):
        return None
    place, _, anchor = link.partition("#")
    target = (page.parent / place) if place else page
    if not target.exists():
        return f"{link}: there is no such file"
    if not target.resolve().is_relative_to(ROOT.resolve()) and page.is_relative_to(ROOT):
        return f"{link}: outside this checkout"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
        return f"{link}: there is no such heading"
    return None


@pytest.mark.parametrize("page", pages(), ids=str)
def test_no_link_is_broken(page: Path) -> None:
    found = links((ROOT / page).read_text("utf-8"))
    problems = (problem_with(link, ROOT / page) for link in found)
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize("page", pages(), ids=str)
def test_code_blocks_of_python_compile(page: Path) -> None:
    for language, block in FENCE.findall((ROOT / page).read_text("utf-8")):
        if language == "python":
            ast.parse(block, str(page))


def test_the_readme_has_a_program() -> None:
    languages = [language for language, _ in FENCE.findall((ROOT / "README.md").read_text("utf-8"))]
    assert "python" in languages


def test_links_are_found_outside_code_only() -> None:
    text = 'a [b](c.md "d") ![e](f.svg)\n[g]: h.md\n`[x](y)`\n```\n[x](y)\n```\n'
    assert links(text) == ["c.md", "f.svg", "h.md"]


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("there.md", None),
        ("there.md#what-it-is-not", None),
        ("#here", None),
        ("mailto:someone", None),
        ("gone.md", "gone.md: there is no such file"),
        ("there.md#gone", "there.md#gone: there is no such heading"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, problem: str | None) -> None:
    (tmp_path / "there.md").write_text("# What it is (not)\n")
    page = tmp_path / "page.md"
    page.write_text("## Here\n")
    assert problem_with(link, page) == problem
