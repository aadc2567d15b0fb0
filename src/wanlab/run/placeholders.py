"""Placeholders in the data of a YAML file: `{rate}` stands for the value of the parameter `rate`.

`{{` and `}}` stand for braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wanlab.errors import WanlabError, did_you_mean
from wanlab.fields import Problems

from .design import Parameters, Value

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def fill(data: object, values: Parameters) -> object:
    """Return the data with every placeholder replaced by its value.

    A text that is nothing but a placeholder becomes the value itself, so it may become a number. Raises
    WanlabError for a placeholder without a value.
    """
    if isinstance(data, Mapping):
        return {key: fill(value, values) for key, value in data.items()}
    if isinstance(data, list):
        return [fill(value, values) for value in data]
    return _fill_text(data, values) if isinstance(data, str) else data


def fill_text(text: str, values: Parameters) -> str:
    """Return the text with every placeholder replaced by its value."""
    return str(_fill_text(text, values))


def check_placeholders(data: object, path: str, values: Parameters, problems: Problems) -> None:
    """Report every placeholder in the data that has no value; `path` is the position of the data."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            check_placeholders(value, f"{path}.{key}" if path else key, values, problems)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            check_placeholders(value, f"{path}[{index}]", values, problems)
    elif isinstance(data, str):
        try:
            _fill_text(data, values)
        except WanlabError as error:
            problems.add(path, error.what, error.hint)


def _fill_text(text: str, values: Parameters) -> Value:
    if (whole := _PLACEHOLDER.fullmatch(text)) and whole[1] in values:
        return values[whole[1]]

    def value_of(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] not in values:
            raise WanlabError(
                f'there is no parameter "{match[1]}"',
                f"{did_you_mean(match[1], values)}; write {{{{ }}}} for braces",
            )
        return str(values[match[1]])

    return _PLACEHOLDER.sub(value_of, text)
