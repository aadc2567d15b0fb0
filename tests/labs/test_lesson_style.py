"""Check the rules for lessons in wanlab docs units, as far as a program can."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest

from wanlab import load
from wanlab.labs import catalog, durations, lesson
from wanlab.labs.unit import Unit
from wanlab.labs.unit_file import read_work

NAMES = list(catalog.names())
TASK = [
    "The task",
    "Before you begin",
    "What you need to know",
    "The network",
    "Commands",
    "Start",
    "Tasks",
    "Check",
    "Hints",
    "Questions",
]
SECTIONS = {
    "lab": [
        "Goals",
        "Before you begin",
        "Theory",
        "The network",
        "Commands",
        "Steps",
        "Questions",
    ],
    "exercise": TASK,
    "problem": TASK,
}
FENCE = re.compile(r"^[ >]*```")
CONSOLE = re.compile(r"^[ >]*```console\n(.*?)^[ >]*```", re.DOTALL | re.MULTILINE)
PROMPT = re.compile(r"^(?:(mininet)>|(\w*)\$) (.+)$")
FLOW = re.compile(r"\biperf3 .*-c ")
# Output that only one program prints, and that program.
PRINTED_BY = {
    r"bits/sec": "iperf3 -c",
    r"icmp_seq=|packets transmitted": "ping",
    r"^net\.\S+ = ": "sysctl",
    r"^qdisc \w+ ": "qdisc show",
    r"^qdisc [^\0]*^ Sent \d+ bytes": "tc -s qdisc show",
    r"^class \w+ ": "tc -s class show",
    r"mtu \d+": "ifconfig",
}
CODE = re.compile(r"`([^`]+)`")
# Programs whose arguments are names of files, units or modules.
NAMES_FOLLOW = {
    "cd",
    "mkdir",
    "cat",
    "xdg-open",
    "plot_iperf.sh",
    "fairness.sh",
    "featherpad",
    "egrep",
    "wanlab",
    "modprobe",
}
# Words of solutions that a student does not need, or that a task explains where it uses them.
EXPLAINED_IN_TASKS = {"sleep", "fairness.sh"}
HOURS = {
    **{"half an hour": 0.5, "an hour": 1.0, "two hours": 2.0},
    **{"an hour and a half": 1.5, "one and a half hours": 1.5},
}


@pytest.fixture(params=NAMES)
def unit(request: pytest.FixtureRequest) -> Unit:
    return catalog.find(request.param)


@cache
def text_of(name: str) -> str:
    text = (catalog.folder_of(name) / "lesson.md").read_text(encoding="utf-8")
    return lesson.edition(text, lesson.TERMINAL)


def parts(text: str, level: int) -> dict[str, str]:
    """Return the sections below headings of a level, in order."""
    found: dict[str, str] = {}
    title, is_code = None, False
    for line in text.splitlines():
        is_code ^= bool(FENCE.match(line))
        heading = None if is_code else re.match(r"(#+) (.+)", line)
        if heading and len(heading[1]) <= level:
            title = heading[2] if len(heading[1]) == level else None
            if title is not None:
                found[title] = ""
        elif title is not None:
            found[title] += line + "\n"
    return found


def without_folded(text: str) -> str:
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def beside_the_manual(text: str) -> list[str]:
    """Return the lines that speak of the manual where everybody reads them.

    A table may have a column or a row of the manual's numbers.
    """
    lines = [*without_folded(text).splitlines(), ""]
    found = []
    for line, below in pairwise(lines):
        if line.startswith("|"):
            line = "" if below.startswith("|---") else line.split("|", 2)[2]
        if re.search(r"\bmanual", line, re.IGNORECASE):
            found.append(line)
    return found


def excerpts(section: str) -> list[tuple[str, str]]:
    """Return each excerpt of output in a section with the text before it."""
    found = re.finditer(r"^```text\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return [(section[: match.start()], match[1]) for match in found]


def typed(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a lesson with its terminal: "h1", "client", "mininet", or ""."""
    for block in CONSOLE.findall(without_folded(text)):
        for line in block.splitlines():
            match = PROMPT.match(line.lstrip("> "))
            assert match, f"no prompt: {line}"
            yield match[1] or match[2] or "", match[3]


def words_of(place: str, line: str) -> Iterator[str]:
    """Yield the words of a command that a beginner needs explained: programs, options, keywords."""
    if place == "mininet":
        first = line.split()[0]
        if not re.fullmatch(r"h\d", first):
            yield first
            return
        line = line.split(maxsplit=1)[1]
    for command in re.split(r"&&|\|", line.replace("$(", " && ").replace(")", "")):
        words = shlex.split(command.replace("'<", "'"), comments=False)
        if ">" in words:
            yield ">"
            words = words[: words.index(">")]
        while words and words[0] == "sudo":
            words = words[1:]
        if not words:
            continue
        yield words[0]
        for word in words[1:]:
            if re.fullmatch(r"--?[A-Za-z1][\w-]*", word):
                yield word
            elif match := re.match(r"net\.[\w.]+", word):
                yield match[0]
            elif words[0] not in NAMES_FOLLOW and re.fullmatch(r"[a-z][a-z_]+", word):
                yield word


@cache
def explained(name: str) -> Counter[tuple[str, str]]:
    """Return the words that the tables of a lesson's new commands explain, with their command."""
    commands = parts(text_of(name), 2).get("Commands", "")
    new = parts(commands, 3).get("New in this unit", "")
    words: Counter[tuple[str, str]] = Counter()
    title = ""
    for line in new.splitlines():
        if match := re.match(r"\*\*(.+?)\*\* ", line):
            title = match[1]
        elif line.startswith("| `"):
            words.update((title, word) for word in CODE.findall(line.split("|")[1]))
    return words


def test_the_lesson_and_lab_yaml_give_the_same_time(unit: Unit) -> None:
    needed = re.search(r"^You need (?:about )?([a-z ]+)[.,]", text_of(unit.name), re.MULTILINE)
    assert needed
    assert HOURS[needed[1]] == unit.hours


def test_the_sections_are_the_same_in_the_same_order(unit: Unit) -> None:
    text = text_of(unit.name)
    assert text.startswith(f"# {unit.heading}\n")
    assert list(parts(text, 2)) == SECTIONS[unit.kind]


def test_the_lab_is_started_and_its_windows_are_named(unit: Unit) -> None:
    sections = parts(text_of(unit.name), 2)
    start = sections["Steps" if unit.kind == "lab" else "Start"]
    assert next(typed(start)) == ("", f"wanlab lab start {unit.name}")
    topology = load(unit.topology)
    hosts = [host.name for host in (*topology.hosts, *topology.routers)]
    windows = ["`mininet>`", "client", *hosts, "this lesson"]
    shown = " ".join(start.split())
    assert ", ".join(f"**{n}** {window}" for n, window in enumerate(windows)) in shown
    assert "Ctrl-B" in start


def test_each_word_of_a_command_is_explained_before_it_is_used(unit: Unit) -> None:
    so_far = NAMES[: NAMES.index(unit.name) + 1]
    known = {word for name in so_far for _, word in explained(name)}
    known |= {"./set_env.sh"} if "problem" in (catalog.find(n).kind for n in so_far) else set()
    used = {word for place, line in typed(text_of(unit.name)) for word in words_of(place, line)}
    assert sorted(used - known) == []


def test_each_command_is_explained_once_in_the_course() -> None:
    titles: Counter[str] = Counter()
    for name in NAMES:
        titles.update({title for title, _ in explained(name)})
        assert [word for word, count in explained(name).items() if count > 1] == []
    assert [title for title, count in titles.items() if count > 1] == []


def test_reminders_lead_to_the_earlier_unit_that_explains_the_command(unit: Unit) -> None:
    commands = parts(text_of(unit.name), 2)["Commands"]
    earlier = NAMES[: NAMES.index(unit.name)]
    folders = {catalog.folder_of(name).name: name for name in earlier}
    for line in parts(commands, 3).get("From earlier units", "").splitlines():
        if not line.startswith("| `"):
            continue
        folder = re.search(r"\(\.\./(\w+)/lesson\.md\)", line)
        assert folder, line
        assert folder[1] in folders, line
        words = {word for _, word in explained(folders[folder[1]])}
        codes = CODE.findall(line.split("|")[1])
        reminded = codes + [word for code in codes for word in code.split()]
        assert set(reminded) & words, line


def test_an_exercise_explains_or_recalls_each_word_of_its_solution(unit: Unit) -> None:
    """Its own tables do, so that nobody has to search earlier lessons for a command."""
    if unit.kind != "exercise":
        return
    commands = parts(text_of(unit.name), 2)["Commands"]
    codes = [code for line in commands.splitlines() for code in CODE.findall(line)]
    recalled = set(codes) | {word for code in codes for word in re.split(r"[\s,]+", code)}
    solution = read_work(unit.folder / "solution.yaml", unit.values)
    used = {
        word
        for step in solution.steps
        for line in step.lines
        for word in words_of(step.where[0], line)
    }
    assert sorted(used - recalled - EXPLAINED_IN_TASKS) == []


def test_the_duration_of_each_test_is_given(unit: Unit) -> None:
    """A section names the duration of each flow whose command has one."""
    sections = parts(text_of(unit.name), 2)
    where = parts(sections["Steps"], 3) if unit.kind == "lab" else {"Tasks": sections["Tasks"]}
    for title, body in where.items():
        prose = CONSOLE.sub("", body)
        for _, line in typed(body):
            if line.startswith("source "):
                assert "**Time:**" in prose, title
            elif FLOW.search(line) and " -n " not in line:
                seconds = durations.seconds_in(line, unit)
                assert re.search(rf"\*\*Time:\*\*[^*]*\b{seconds:g} s\b", prose), (title, line)


def test_a_unit_that_waits_for_minutes_says_how_to_wait_less(unit: Unit) -> None:
    times = re.findall(r"\*\*Time:\*\*[^\n]*?(\d+) s\b", text_of(unit.name))
    if max(map(int, times), default=0) < 60:
        return
    assert f"`wanlab lab start {unit.name} --pace fast`" in text_of(unit.name)
    on_page = lesson.edition((unit.folder / "lesson.md").read_text(encoding="utf-8"), lesson.PAGE)
    assert "the pace *as fast as possible*" in " ".join(on_page.split())


def test_each_step_shows_what_to_expect(unit: Unit) -> None:
    if unit.kind != "lab":
        return
    steps = parts(parts(text_of(unit.name), 2)["Steps"], 3)
    for title, body in steps.items():
        if title != "Check and end" and any(place for place, _ in typed(body)):
            assert "```text\n" in body or "**Observe:**" in body or "\n| " in body, title
    whole = parts(text_of(unit.name), 2)["Steps"]
    assert "```text\n" in whole or "\n|---" in whole


def test_each_lab_shows_an_excerpt_of_real_output(unit: Unit) -> None:
    found = excerpts(parts(text_of(unit.name), 2).get("Steps", ""))
    assert unit.kind != "lab" or found
    assert all(excerpt.strip() for _, excerpt in found)


def test_each_excerpt_follows_the_command_that_prints_it(unit: Unit) -> None:
    steps = parts(text_of(unit.name), 2).get("Steps", "")
    for section in parts(steps, 3).values():
        for before, excerpt in excerpts(section):
            for printed, command in PRINTED_BY.items():
                if re.search(printed, excerpt, re.MULTILINE):
                    assert command in before, excerpt


def test_a_sentence_that_announces_an_excerpt_is_followed_by_one(unit: Unit) -> None:
    announced = re.compile(r":\n\n\*\*Observe:")
    assert not announced.search(without_folded(text_of(unit.name)))


def test_the_last_step_is_the_check(unit: Unit) -> None:
    sections = parts(text_of(unit.name), 2)
    check = sections["Steps"] if unit.kind == "lab" else sections["Check"]
    if unit.kind == "lab":
        check = parts(check, 3)["Check and end"]
    assert f"wanlab lab check {unit.name}" in [line for _, line in typed(check)]
    assert "type `exit`" in check


def test_what_the_manual_says_is_folded(unit: Unit) -> None:
    """A student has no manual. Lab 1 says once what the course means by it."""
    text = text_of(unit.name)
    if unit.name == "1":
        before, begins, rest = text.partition("The sections have the numbers of the printed")
        assert begins
        text = before + rest.partition("\n\n")[2]
    assert beside_the_manual(text) == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("The manual says 3.", True),
        ("<details>\nThe manual says 3.\n</details>", False),
        ("| h1 | manual | ours |\n|---|---|---|\n| rate | 3 | 4 |", False),
        ("| h1 | ours |\n|---|---|\n| rate, manual | 4 |", False),
        ("| h1 | ours |\n|---|---|\n| rate | 4 (the manual has 3) |", True),
    ],
)
def test_remarks_about_the_manual_are_found(text: str, is_found: bool) -> None:
    assert bool(beside_the_manual(text)) is is_found


def test_prose_is_wrapped(unit: Unit) -> None:
    is_code = False
    source = (unit.folder / "lesson.md").read_text(encoding="utf-8")
    for line in re.sub(r"\$\$.*?\$\$", "", source, flags=re.DOTALL).splitlines():
        is_code ^= bool(FENCE.match(line))
        if not is_code and not re.match(r"[ >]*(\||#|    )", line) and "$" not in line:
            assert len(line) <= 100, line
