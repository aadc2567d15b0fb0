"""The prose of the gallery's pages is wrapped; everything else stays as it is."""

from __future__ import annotations

from wanlab.gallery.wrapping import wrapped


def test_paragraphs_and_items_are_filled_to_the_width() -> None:
    page = "one two three\nfour five six\n\n* seven eight nine ten\n  eleven\n* twelve\n"
    assert wrapped(page, 15) == (
        "one two three\nfour five six\n\n* seven eight\n  nine ten\n  eleven\n* twelve\n"
    )


def test_tables_headings_figures_and_code_stay_as_they_are() -> None:
    page = (
        "## A heading that is long\n\n| a table | that is long |\n|---|---|\n\n"
        "![A figure](that-is-long.svg)\n\n    a command --that is long\n\n"
        "```yaml\nkey: a text that is long\n```\n"
    )
    assert wrapped(page, 10) == page


def test_no_wrapped_line_begins_a_list_or_breaks_code() -> None:
    assert wrapped("a sum of a + b", 10) == "a sum of\na + b\n"
    assert wrapped("a loss of 1 %", 11) == "a loss of\n1 %\n"
    assert wrapped("type `ab -c d` now", 12) == "type\n`ab -c d`\nnow\n"


def test_a_word_longer_than_the_width_gets_a_separate_line() -> None:
    assert wrapped("see <https://example.org/a-b> there", 12) == (
        "see\n<https://example.org/a-b>\nthere\n"
    )


def test_wrapping_twice_changes_nothing() -> None:
    once = wrapped("* item one two three\n  four\n\npara one two three four\n", 14)
    assert wrapped(once, 14) == once
