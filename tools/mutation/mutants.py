"""The mutants of a source file: small mistakes, each a replacement of one piece of its text.

The mistakes are those that programmers make and that tests should notice: a limit that is off by one,
a forgotten condition, the wrong one of two operators, a forgotten entry of a table, a missing call.
Nothing is changed that only people read (messages, annotations, docstrings), nor assertions.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
# Whether a class can be compared, ordered or printed does not decide a result.
DECLARATIONS = {"field", "dataclass", "TypeVar", "NewType", "cast", "isinstance", "issubclass"}
DECLARING_KEYWORDS = {"repr", "frozen", "kw_only", "slots", "init", "compare", "exist_ok"}
UNBRACKETED = (
    ast.Call,
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
"""Expressions that need no brackets, wherever they stand."""
Element = TypeVar("Element")
Function = tuple[str, int]
"""The qualified name and the first line of a function."""


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file. Lines count from 1."""

    path: str
    """Relative to the checkout."""
    scope: str
    """The qualified name of the function or class that contains it; "" at the top of the module."""
    function: Function | None
    """The outermost function whose body contains it; None if it acts when the module is imported."""
    first_line: int
    last_line: int
    before: str
    """The changed lines of the file, without indentation; and `after` the mistake."""
    after: str
    source: str
    """The whole text of the mutated file."""
    number: int = 0
    """Distinguishes equal mistakes in equal lines of one function."""

    @property
    def identity(self) -> str:
        """Survives changes elsewhere in the file."""
        parts = (self.path, self.scope, self.before, self.after, str(self.number))
        return sha256("\0".join(parts).encode()).hexdigest()[:16]


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of their places."""
    text = _Text(source)
    seen: Counter[tuple[str, str, str]] = Counter()
    found, texts = [], {source}
    tree = ast.parse(source)
    for place in _places(tree, _Place(tree, tree), is_import=True):
        for replacement in _replacements(place):
            mutated = text.replaced(place.node, replacement)
            if mutated in texts:
                continue
            texts.add(mutated)
            first, last = text.lines_of(place.node)
            before = text.shown(source, first, last)
            after = text.shown(mutated, first, last + mutated.count("\n") - source.count("\n"))
            key = place.scope, before, after
            found.append(
                Mutant(
                    path,
                    place.scope,
                    place.function,
                    first,
                    last,
                    before,
                    after,
                    mutated,
                    seen[key],
                )
            )
            seen[key] += 1
    return found


class _Text:
    """A source text, in which syntax trees count columns in bytes."""

    def __init__(self, source: str) -> None:
        self._lines = source.encode().splitlines(keepends=True)

    def lines_of(self, node: ast.AST) -> tuple[int, int]:
        return _start(node)[0], _end(node)[0]

    def replaced(self, node: ast.AST, replacement: str) -> str:
        (first, start), (last, end) = _start(node), _end(node)
        before = b"".join([*self._lines[: first - 1], self._lines[first - 1][:start]])
        after = b"".join([self._lines[last - 1][end:], *self._lines[last:]])
        return (before + replacement.encode() + after).decode()

    @staticmethod
    def shown(source: str, first: int, last: int) -> str:
        return " ".join(line.strip() for line in source.splitlines()[first - 1 : last])


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


# -- where mistakes can be made ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A node that may be changed, with what surrounds it."""

    node: ast.AST
    parent: ast.AST
    scope: str = ""
    function: Function | None = None

    def inside(self, node: ast.AST) -> _Place:
        return _Place(node, self.node, self.scope, self.function)


def _places(node: ast.AST, place: _Place, *, is_import: bool) -> Iterator[_Place]:
    """Yield all places below a node. `is_import`: what is below acts when the module is imported."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_for_readers(node, name, child):
                continue
            at = place.inside(child)
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _definition(child, at, is_import=is_import)
                continue
            if hasattr(child, "lineno"):
                yield at
            yield from _places(child, at, is_import=is_import)


def _definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, place: _Place, *, is_import: bool
) -> Iterator[_Place]:
    """Yield the places of a function or class: defaults belong to what surrounds it, its body not."""
    inner = f"{place.scope}.{node.name}".strip(".")
    function = place.function
    if is_import and not isinstance(node, ast.ClassDef):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        function = inner, first
        yield from _places(node.args, place.inside(node.args), is_import=True)
    is_import = is_import and isinstance(node, ast.ClassDef)
    body = ast.Module(list(node.body), [])
    yield from _places(body, _Place(body, node, inner, function), is_import=is_import)


def _is_for_readers(parent: ast.AST, name: str, child: ast.AST) -> bool:
    """Whether a part of the program is for people or for mypy."""
    if name in ("annotation", "returns", "decorator_list", "keywords") and not isinstance(
        parent, ast.Call
    ):
        return True
    if isinstance(child, (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True  # a docstring
    if isinstance(parent, ast.Raise) or (isinstance(child, ast.Call) and _is_declaration(child)):
        return True
    if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
        return True
    if isinstance(child, ast.Assign) and _is_type_alias(child):
        return True
    return isinstance(child, ast.keyword) and child.arg in DECLARING_KEYWORDS


def _is_declaration(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in DECLARATIONS


def _is_type_alias(statement: ast.Assign) -> bool:
    value = statement.value
    text = ast.unparse(statement.targets[0])
    return text == "__all__" or (
        text[:1].isupper()
        and not text.isupper()
        and "_" not in text
        and (isinstance(value, (ast.Subscript, ast.BinOp, ast.Name)))
    )


# -- the mistakes -----------------------------------------------------------------------------------


def _replacements(place: _Place) -> Iterator[str]:
    """Yield the texts that may stand in place of a node."""
    node = place.node
    if isinstance(node, ast.stmt):
        yield from _statement(node)
    elif isinstance(node, ast.Constant):
        yield from _constant(node, place.parent)
    elif isinstance(node, ast.expr):
        for changed in _expression(node, place.parent):
            text = ast.unparse(changed)
            is_plain = isinstance(changed, UNBRACKETED)
            yield text if is_plain else f"({text})"


def _statement(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Return):
        if node.value is not None and ast.unparse(node.value) != "None":
            yield "return None"
    elif _is_action(node):
        yield "pass"
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield "continue" if isinstance(node, ast.Break) else "break"
    if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        changed = copy.deepcopy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield ast.unparse(changed)


def _is_action(node: ast.stmt) -> bool:
    """Whether a statement does something, so that the program goes on without it."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Await))
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    return isinstance(node, (ast.Raise, ast.AugAssign))


def _constant(node: ast.Constant, parent: ast.AST) -> Iterator[str]:
    value = node.value
    if isinstance(value, bool):
        yield repr(not value)
    elif isinstance(value, int):
        yield repr(value + 1)
    elif isinstance(value, float):
        yield repr(value * 2 if value else 1.0)
    elif isinstance(value, (str, bytes)):
        is_decisive = isinstance(parent, (ast.Compare, ast.Subscript, ast.Dict)) and (
            not isinstance(parent, ast.Dict) or node in parent.keys
        )
        if is_decisive:
            yield repr("XX" + value if isinstance(value, str) else b"XX" + value)


def _expression(node: ast.expr, parent: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        yield from _comparison(node)
    elif isinstance(node, ast.BoolOp):
        yield from _condition(node)
    elif isinstance(node, ast.UnaryOp):
        yield from _unary(node, parent)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Dict) and len(node.keys) > 1:
        for index in range(len(node.keys)):
            yield ast.Dict(_without(node.keys, index), _without(node.values, index))
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)) and len(node.elts) > 1:
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(
            parent, ast.Subscript
        ):
            for index in range(len(node.elts)):
                changed = copy.copy(node)
                changed.elts = _without(node.elts, index)
                yield changed
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        yield from _comprehension(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from _slice(node, node.slice)
    if _is_test(node, parent) and not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), node)


def _comparison(node: ast.Compare) -> Iterator[ast.expr]:
    for index, operator in enumerate(node.ops):
        changed = copy.copy(node)
        changed.ops = [*node.ops]
        changed.ops[index] = COMPARISONS[type(operator)]()
        yield changed


def _condition(node: ast.BoolOp) -> Iterator[ast.expr]:
    for index in range(len(node.values)):
        rest = _without(node.values, index)
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _unary(node: ast.UnaryOp, parent: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node.op, ast.USub):
        is_index = isinstance(parent, ast.Subscript) and ast.unparse(node) == "-1"
        yield ast.Constant(0) if is_index else node.operand


def _call(node: ast.Call) -> Iterator[ast.expr]:
    if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        other = FUNCTIONS[node.func.id]
        keywords = [] if other == "list" else node.keywords
        yield ast.Call(ast.Name(other), node.args, keywords)


def _comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Iterator[ast.expr]:
    for number, generator in enumerate(node.generators):
        for index in range(len(generator.ifs)):
            changed = copy.deepcopy(node)
            del changed.generators[number].ifs[index]
            yield changed


def _slice(node: ast.Subscript, bounds: ast.Slice) -> Iterator[ast.expr]:
    for name in ("lower", "upper"):
        if getattr(bounds, name) is not None:
            changed = copy.deepcopy(node)
            setattr(changed.slice, name, None)
            yield changed


def _is_test(node: ast.expr, parent: ast.AST) -> bool:
    return isinstance(parent, (ast.If, ast.While, ast.IfExp)) and parent.test is node


def _without(values: list[Element], index: int) -> list[Element]:
    return values[:index] + values[index + 1 :]
