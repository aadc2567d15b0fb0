"""The values that a seed draws for a unit, and texts with placeholders for them.

    draw:                                   in lab.yaml: one value of each is drawn
      rate: [500, 600, 800]
      lossy: [{port: s2-eth2}, {port: h1-eth0}]      or several at once, by mappings
    manual: {rate: 1000}                    what seed 0 has: the manual's own values
    calculate:
      bdp: "rate * 50 * 125"                numbers from numbers that come before

`<rate>` and `<0.9 * rate>` stand for values in lab.yaml, solutions and lessons; set_env.sh has them
as variables of the shell. `variant`, the number of the fault, is a value, too.
"""

from __future__ import annotations

import ast
import hashlib
import operator
import re
from collections.abc import Callable, Mapping, Sequence

from wanlab.errors import WanlabError

Value = int | float | str
Values = Mapping[str, Value]

PLACEHOLDER = re.compile(r"<([a-z0-9_.+*/() -]+)>")
DIGITS = 10
_OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def draw(name: str, lists: Mapping[str, Sequence[object]], seed: int) -> dict[str, Value]:
    """Draw one value of each list for the unit `name`; equal seeds draw equal values."""
    values: dict[str, Value] = {}
    for key, choices in lists.items():
        digest = hashlib.sha256(f"{name} {key} {seed}".encode()).digest()
        choice = choices[int.from_bytes(digest[:8]) % len(choices)]
        if isinstance(choice, Mapping):
            values |= {str(word): _plain(value) for word, value in choice.items()}
        else:
            values[key] = _plain(choice)
    return values


def plain(values: Mapping[str, object]) -> dict[str, Value]:
    """Return values of a file as numbers and texts."""
    return {key: _plain(value) for key, value in values.items()}


def with_texts_filled(values: Values) -> dict[str, Value]:
    """Fill the placeholders in drawn texts with the other values."""
    filled = {key: fill(value, values) for key, value in values.items()}
    return {key: _plain(value) for key, value in filled.items()}


def calculate(expression: str, values: Values) -> float:
    """Evaluate an expression of numbers, names of values, + - * / and brackets.

    Raises WanlabError for anything else.
    """
    try:
        return _tidy(_calculate(ast.parse(expression.strip(), mode="eval").body, values))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not a calculation"
        raise WanlabError(f'"{expression}": {reason}', "as in rate * 50 * 125") from None


def fill(data: object, values: Values) -> object:
    """Replace placeholders in all texts of `data`, which may be nested.

    A text that is only a placeholder becomes the value itself, with its type. Unknown placeholders
    stay: `<br>`, or `<file>` in a hint.
    """
    if isinstance(data, str):
        whole = PLACEHOLDER.fullmatch(data)
        value = _value(whole[1], values) if whole else None
        if value is not None:
            return value
        return PLACEHOLDER.sub(lambda match: _text(match, values), data)
    if isinstance(data, Mapping):
        return {key: fill(value, values) for key, value in data.items()}
    if isinstance(data, list):
        return [fill(item, values) for item in data]
    return data


def shell_assignments(values: Values) -> str:
    """Return the values as variables of a shell script."""
    quoted = (f"{key}='{str(value).replace(chr(39), '')}'" for key, value in values.items())
    return "".join(f"{line}\n" for line in quoted)


def _text(match: re.Match[str], values: Values) -> str:
    value = _value(match[1], values)
    return match[0] if value is None else str(value)


def _value(expression: str, values: Values) -> Value | None:
    name = expression.strip()
    if name in values:
        return values[name]
    names = set(re.findall(r"[a-z_]\w*", expression))
    if not names or not names <= set(values):
        return None
    return calculate(expression, values)


def _calculate(node: ast.expr, values: Values) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        value = values.get(node.id)
        if isinstance(value, int | float):
            return value
        raise ValueError(f"there is no number {node.id}")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_calculate(node.operand, values)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        calculation = _OPERATORS[type(node.op)]
        return calculation(_calculate(node.left, values), _calculate(node.right, values))
    raise ValueError("it is not a calculation")


def _tidy(number: float) -> float:
    """Return a whole number as an int, because commands contain it as bytes or milliseconds."""
    rounded = round(number, DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded


def _plain(value: object) -> Value:
    return value if isinstance(value, int | float | str) else str(value)
