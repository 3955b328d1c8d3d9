"""The published schema of case files, and what a file breaks of it, in our words."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hettest.files.reading import parse_json, read_text

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

SCHEMA = Path(__file__).with_name("schema.json")


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    make: Any = extend(Draft202012Validator, type_checker=whole)  # type: ignore[no-untyped-call]
    return cast("Validator", make(parse_json(read_text(SCHEMA), SCHEMA)))


def _is_integer(_: object, found: object) -> bool:
    """Whether a value is written as an integer; ``2.0`` is not."""
    return isinstance(found, int) and not isinstance(found, bool)


@cache
def _quick() -> Any:
    """Return a validator that is a hundred times faster, and whose yes can be relied on.

    It takes 2.0 for an integer and NaN for no number, and its messages are its own; so what it
    refuses, and what has whole floats where they matter, goes to the other one.
    """
    from jsonschema_rs import validator_for

    return validator_for(parse_json(read_text(SCHEMA), SCHEMA))


_NUMBERS = frozenset({"data", "fill", "random", "ulps"})
"""Keys below which a float may be whole."""


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_whole_float(v) for key, v in value.items() if key not in _NUMBERS)
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, float) and value.is_integer()


def _is_surely_valid(data: dict[str, Any]) -> bool:
    try:
        return bool(_quick().is_valid(data))
    except ValueError:  # it cannot look at all that TOML has, such as dates
        return False


def violations(data: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each violation: the path of the key at fault, and what is wrong there."""
    if not _has_whole_float(data) and _is_surely_valid(data):
        return
    for error in sorted(_validator().iter_errors(data), key=lambda e: list(map(str, e.path))):
        yield tuple(error.absolute_path), _wording(error)


def _wording(error: ValidationError) -> str:
    found: Any = error.instance
    expected: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            return _unknown_keys(found, error.schema)
        case "required":
            return f"{', '.join(k for k in expected if k not in found)} is missing"
        case "oneOf":
            keys = ", ".join(option["required"][0] for option in expected)
            return f"needs exactly one of {keys}"
        case "enum":
            return f"found {found!r}, expected one of {', '.join(map(str, expected))}"
        case "const":
            return f"found {found!r}, expected {expected!r}"
        case "dependentRequired":
            return "a looser bound needs a reason"
        case _:
            return str(error.message)


def _unknown_keys(found: dict[str, Any], schema: Any) -> str:
    known = list(schema.get("properties", ()))
    unknown = [k for k in found if k not in known]
    close = difflib.get_close_matches(unknown[0], known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the keys here are {', '.join(known)}"
    return f"{', '.join(unknown)} is no key of this table; {hint}"
