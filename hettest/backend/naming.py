"""How a backend is named: by an entry point or ``module:attribute``, with options of its own.

======================================================  ========================================
``onnxruntime``                                         an installed one, by its entry point
``onnxruntime:provider=CPUExecutionProvider,threads=1`` the same, with options
``mine.adapter:Backend``                                a class or function of a module
``mine.adapter:Backend:queues=2``                       the same, with options
======================================================  ========================================

Options are keyword arguments of that class or function, which are read as its signature says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Final, final

from hettest.errors import UsageError

GROUP: Final = "hettest.backends"

_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS: Final = {int: "an integer", float: "a number", bool: "true or false"}


def installed() -> Mapping[str, str]:
    """Return the installed backends: by name, where each is, ``module:attribute``."""
    return {point.name: point.value for point in sorted(entry_points(group=GROUP))}


@final
@dataclass(frozen=True, slots=True)
class BackendName:
    """A backend's name, taken apart."""

    text: str
    """As it was given."""

    module: str
    attribute: str
    options: Mapping[str, str]
    is_installed: bool
    """Whether it was named by an entry point."""

    @property
    def place(self) -> str:
        """``module:attribute``."""
        return f"{self.module}:{self.attribute}"


def parse_name(text: str) -> BackendName:
    """Take a backend's name apart.

    Raises:
        UsageError: No backend of that name is installed, or the name has another form.
    """
    head, rest, options = _split(text)
    place = f"{head}:{rest}" if rest is not None else installed().get(head)
    if place is None:
        near = get_close_matches(head, installed(), n=1)
        meant = f"; did you mean {near[0]}?" if near else "."
        raise UsageError(
            f"found no backend {head}; installed are {', '.join(installed()) or 'none'}{meant} "
            "Another one is named as module:attribute"
        )
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        raise UsageError(f"found backend {text}, expected the form module:attribute")
    return BackendName(text, module, attribute, _options(text, options), rest is None)


def _split(text: str) -> tuple[str, str | None, str]:
    """Return the first part of a name, its attribute if it has one, and its options."""
    head, _, rest = text.partition(":")
    if ":" not in text:
        return head, None, ""
    if "=" in rest and ":" not in rest.partition("=")[0]:
        return head, None, rest
    attribute, _, options = rest.partition(":")
    return head, attribute, options


def _options(name: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(
                f"backend {name}: found {part!r}, expected an option such as threads=1"
            )
        if key in found:
            raise UsageError(f"backend {name}: option {key} is given twice")
        found[key] = value
    return found


def arguments(name: BackendName, make: Callable[..., Any]) -> dict[str, Any]:
    """Return the options as keyword arguments of ``make``.

    A text is read as a number or a truth value where the parameter's annotation, or else the type
    of its default, is ``int``, ``float`` or ``bool``.

    Raises:
        UsageError: An option is unknown, missing or malformed; says which there are.
    """
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # a class in C may have no signature
        return dict(name.options)
    named = {p.name: p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    known = {key: p for key, p in named.items() if not key.startswith("_")}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for key in name.options:
        if key not in known and not takes_any:
            raise UsageError(f"backend {name.text}: {_unknown(key, list(known))}")
    for key, parameter in named.items():
        if parameter.default is parameter.empty and key not in name.options:
            raise UsageError(f"backend {name.text} needs an option {key}: {name.place}:{key}=…")
    return {key: _read(name, key, text, known.get(key)) for key, text in name.options.items()}


def _unknown(key: str, known: list[str]) -> str:
    if not known:
        return f"has no option {key}; it takes no options"
    near = get_close_matches(key, known, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"has no option {key}; its options are {', '.join(known)}{meant}"


def _read(name: BackendName, key: str, text: str, parameter: inspect.Parameter | None) -> Any:
    kind = _kind(parameter)
    try:
        if kind is bool:
            return _TRUTHS[text.lower()]
        return text if kind is None else kind(text)
    except (KeyError, ValueError):
        raise UsageError(
            f"backend {name.text}: option {key} is {text!r}, expected {_KINDS[kind or int]}"
        ) from None


def _kind(parameter: inspect.Parameter | None) -> type | None:
    """Return the type that an option's text is read as; ``None`` for a text."""
    if parameter is None:
        return None
    words = str(getattr(parameter.annotation, "__name__", parameter.annotation))
    written = {word.strip() for word in words.split("|")}
    for kind in (bool, int, float):
        if kind.__name__ in written or type(parameter.default) is kind:
            return kind
    return None
