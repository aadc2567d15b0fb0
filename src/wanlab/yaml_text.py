"""Read YAML with the line of every value, and write it.

A value without quotes is a text unless it is `true`, `false`, `null` or a decimal number. So a MAC
address is not a number of base 60, which it can be in YAML 1.1, and a host may be called `no`.

libyaml, the parser of PyYAML in C, is about six times as fast as the parser in Python. It differs in
its error messages, in tabs inside a text, in tags (`!set`) and in keys marked by `?`. Therefore the
parser in Python reads every text that may contain these, or that libyaml refuses: the result is the
same with and without libyaml.

A short text can expand to more data than fits into memory, by references (`*name`), by long names or
by many brackets. The limits below keep every text below 500 MB and 10 s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from yaml.composer import Composer

from wanlab.errors import InputError, Problem

WIDTH = 100
MAX_CHARACTERS = 16 << 20
MAX_CHARACTERS_IN_PYTHON = 512 << 10
"""The parser in Python takes 10 us for each character."""
MAX_VALUES = 500_000
MAX_PATH_CHARACTERS = 32 << 20
"""Of the paths of all values: a long key is in the path of every value below it."""


@dataclass(frozen=True)
class YamlDocument:
    """The content of a YAML text, with positions."""

    data: object
    lines: Mapping[str, int]
    """The line of each value, by its path: `{"links[2].dest": 7}`."""
    problems: tuple[Problem, ...] = ()
    """Keys that occur twice."""

    def locate(self, path: str) -> str:
        """Return "line 7 (links[2].dest)"; for a missing value, the line of its mapping."""
        known = path
        while known and known not in self.lines:
            known = known.rpartition(".")[0]
        line = f"line {self.lines.get(known, 1)}"
        return f"{line} ({path})" if path else line


def parse_yaml(text: str, file: str = "", *, allow_references: bool = False) -> YamlDocument:
    """Parse a YAML text; raise InputError, with the line, if it is not YAML.

    References (`*name`) are refused unless they are allowed: a few lines of them can expand to more
    data than fits into memory.
    """
    try:
        return _parsed(text, allow_references)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = f"cannot read this YAML: {error.problem or error.context}"
        raise InputError([Problem(position, what)], file) from None
    except yaml.YAMLError as error:
        what = f"cannot read this YAML: {str(error).splitlines()[0]}"
        raise InputError([Problem("", what)], file) from None
    except RecursionError:
        raise InputError([Problem("", "this YAML is nested too deeply")], file) from None
    except ValueError as error:
        raise InputError([Problem("", f"cannot read this YAML: {error}")], file) from None


def read_yaml(text: str, file: str = "") -> object:
    """Return the content of a YAML text; raise InputError if it is not YAML or a key occurs twice."""
    document = parse_yaml(text, file)
    if document.problems:
        raise InputError(document.problems, file)
    return document.data


def dump_yaml(data: object, *, short_in_one_line: bool = False) -> str:
    """Return the YAML text of mappings, lists, texts and numbers.

    short_in_one_line: write mappings and lists without inner ones as `{host: h1}` and `[h1, s1]`.
    """
    text: str = yaml.dump(
        data,
        Dumper=_PlainDumper,
        sort_keys=False,
        default_flow_style=None if short_in_one_line else False,
        allow_unicode=True,
        width=WIDTH,
    )
    return text


_TOO_MANY = f"it has more than {MAX_VALUES} values, or very long names"
_STANDARD = "tag:yaml.org,2002:"
_UNUSUAL_LINE_ENDS = {"\x85", "\u2028", "\u2029"}
# After a letter or a digit, a question mark is part of a text.
_READ_BY_PYTHON = re.compile(r"[\t!]|(?<![A-Za-z0-9])\?")


class _PlainDumper(yaml.SafeDumper):
    """Writes an object that occurs twice a second time, instead of a reference to the first."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """Quote and escape texts with line ends that YAML 1.1 would join."""
        style = '"' if _UNUSUAL_LINE_ENDS & set(data) else None
        return self.represent_scalar(f"{_STANDARD}str", data, style=style)


class _Counting(Composer):
    """Refuses a text with too many values, while it is read."""

    _values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise yaml.YAMLError(_TOO_MANY)
        return super().compose_node(parent, index)


class _ReferenceLoader(_Counting, yaml.SafeLoader):
    """Reads fewer values as numbers, times or truth values than YAML 1.1 does (see `_MEANINGS`)."""


class _RefusesReferences(Composer):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # type: ignore[attr-defined]
            mark = self.peek_event().start_mark  # type: ignore[attr-defined]
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not allowed here", problem_mark=mark
            )
        return super().compose_node(parent, index)


class _PlainLoader(_RefusesReferences, _ReferenceLoader):
    """Also refuses references."""


_LOADERS: list[type[yaml.SafeLoader | yaml.CSafeLoader]] = [_ReferenceLoader, _PlainLoader]
if yaml.__with_libyaml__:

    class _FastReferenceLoader(_Counting, yaml.CSafeLoader):
        """Finds tokens with libyaml, and composes nodes in Python, which limits the depth."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            _Counting.__init__(self)

    class _FastLoader(_RefusesReferences, _FastReferenceLoader):
        """Also refuses references."""

    _LOADERS += [_FastReferenceLoader, _FastLoader]


_PlainDumper.add_representer(str, _PlainDumper.represent_text)
_MEANINGS = {
    "null": (r"~|null|", ["~", "n", ""]),
    "bool": (r"true|false", ["t", "f"]),
    "int": (r"-?(?:0|[1-9][0-9]{0,999})", list("-0123456789")),
    "float": (r"-?[0-9]+\.[0-9]*(?:e[-+][0-9]+)?", list("-0123456789")),
}
for _loader in _LOADERS:
    _loader.yaml_implicit_resolvers = {}
    for _tag, (_pattern, _beginnings) in _MEANINGS.items():
        _loader.add_implicit_resolver(
            f"{_STANDARD}{_tag}", re.compile(f"(?:{_pattern})$"), _beginnings
        )


def _parsed(text: str, allow_references: bool) -> YamlDocument:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS >> 20} Mi characters")
    is_short = len(text) <= MAX_CHARACTERS_IN_PYTHON
    if yaml.__with_libyaml__ and not _READ_BY_PYTHON.search(text):
        try:
            return _Parser((_FastReferenceLoader if allow_references else _FastLoader)(text)).all()
        except (yaml.YAMLError, RecursionError, ValueError):
            # The parser in Python decides whether this is YAML, and reports the mistake.
            if not is_short:
                raise
    if not is_short:
        raise ValueError(
            f"it has more than {MAX_CHARACTERS_IN_PYTHON >> 10} Ki characters, with a tab, ! or ?"
        )
    return _Parser((_ReferenceLoader if allow_references else _PlainLoader)(text)).all()


class _Parser:
    """Turns nodes into values, and records the line of each."""

    def __init__(self, loader: yaml.SafeLoader | yaml.CSafeLoader) -> None:
        self._loader = loader
        self._values = self._path_characters = 0
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def all(self) -> YamlDocument:
        node = self._loader.get_single_node()
        data = None if node is None else self.value(node, "")
        return YamlDocument(data, self.lines, tuple(self.problems))

    def value(self, node: yaml.Node, path: str) -> object:
        self._values += 1
        self._path_characters += len(path)
        if self._values > MAX_VALUES or self._path_characters > MAX_PATH_CHARACTERS:
            raise yaml.YAMLError(_TOO_MANY)
        self.lines.setdefault(path, node.start_mark.line + 1)
        if node.tag.removeprefix(_STANDARD) not in (*_MEANINGS, "str", "seq", "map"):
            raise yaml.MarkedYAMLError(
                problem=f"the tag {node.tag} is not allowed here", problem_mark=node.start_mark
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        value: object = self._loader.construct_object(node)
        return value

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            inside = f"{path}.{key}" if path else key
            line = key_node.start_mark.line + 1
            if key in mapping:
                self.problems.append(
                    Problem(f"line {line} ({inside})", f'"{key}" occurs twice', "keep one")
                )
            self.lines[inside] = line
            mapping[key] = self.value(value_node, inside)
        return mapping
