"""Random programs whose values lie at the end of a domain: at 0, at 1 and -1, at ties.

Floats are computed that are exactly there, or would be if nothing were rounded; operators with an
end, a pole or a step in that place take them.
"""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np

from tests.property.judged_runs import Written

SHAPE: Final = (6, 8)
TYPE: Final = "f32[6, 8]"

AT_ZERO: Final = (
    "subtract({x}, {x})",
    "multiply({x}, {zeros})",
    "relu({x})",
    "subtract(divide({p}, {p}), {one})",
    "subtract({s}, {t})",
    "add({x}, negative({x}))",
)
AT_ONE: Final = (
    "divide({p}, {p})",
    "add(square(sin({x})), square(cos({x})))",
    "multiply({p}, reciprocal({p}))",
    "tanh(multiply({p}, {thousand}))",
    "cos({zeros})",
    "exp(log({p}))",
)
AT_WHOLE: Final = (
    "multiply({whole}, divide({p}, {p}))",
    "divide({whole}, {two})",
    "add({whole}, {half})",
)
ROWS: Final = (
    "add(sqrt(sum(multiply({x}, {x}), axis = [-1], keepdims = true)), {zeros})",
    "add(sum(abs({zeros}), axis = [-1], keepdims = true), {zeros})",
    "add(max(softmax({x}, axis = -1), axis = [-1], keepdims = true), {zeros})",
    "add(mean(multiply({x}, {x}), axis = [-1], keepdims = true), {zeros})",
)

ENDS: Final = (
    *("sqrt({})", "log({})", "reciprocal({})", "asin({})", "acos({})", "acosh({})", "atanh({})"),
    *("pow({}, {half})", "pow({}, {minus})", "divide({x}, {})", "divide({}, {})", "tan({})"),
    *("softmax(log({}), axis = -1)", "log_softmax({}, axis = -1)", "sqrt(relu({}))"),
    *("sqrt(abs({}))", "acos(clip({}, {low}, {high}))", "log(maximum({}, {half}))"),
    "layer_norm({}, {gain}, axis = -1)",
)
STEPS: Final = (
    *("floor({})", "ceil({})", "round({})", "sign({})", "floor_divide({}, {two})"),
    *("remainder({}, {two})", "fmod({}, {two})", "cast(cast({}, to = i32), to = f32)"),
    "where(less({}, {one}), {x}, {p})",
    "cast(argmax({}, axis = -1, keepdims = true), to = f32)",
    "cast(equal({}, {one}), to = f32)",
    "thresholded_relu({}, alpha = 1.0)",
    "shrink({}, bias = 0.5, lambd = 1.0)",
    "clip({}, {low}, {high})",
)


def _inputs(numbers: np.random.Generator) -> dict[str, Any]:
    """Return the parameters; rows of ``x`` are 0, and its other numbers are short or long."""
    x = numbers.standard_normal(SHAPE).astype(np.float32)
    x[:2] = np.round(x[:2] * 4) / 4
    x[numbers.integers(0, 6)] = 0
    s = numbers.standard_normal(SHAPE).astype(np.float32)
    values = {
        "x": x,
        "p": np.abs(x) + np.float32(0.7),
        "s": s,
        "t": s,
        "whole": numbers.integers(-3, 4, SHAPE).astype(np.float32),
        "zeros": np.zeros(SHAPE, np.float32),
        "gain": np.ones(SHAPE[1], np.float32),
    }
    scalars = {"one": 1, "two": 2, "half": 0.5, "minus": -1, "thousand": 1000, "low": -1, "high": 1}
    return values | {name: np.asarray(v, np.float32) for name, v in scalars.items()}


class Writer:
    """Writes nested calls as bindings."""

    def __init__(self) -> None:
        self.body: list[str] = []

    def let(self, expression: str) -> str:
        """Bind an expression, each call inside it before, and return the variable."""
        depth, start, inner = 0, 0, expression
        head = expression.index("(")
        parts, last = [], head + 1
        for place in range(head + 1, len(expression) - 1):
            char = expression[place]
            depth += (char == "(") - (char == ")")
            if char == "," and not depth:
                parts.append(expression[last:place].strip())
                last = place + 1
        parts.append(expression[last : len(expression) - 1].strip())
        args = [
            self.let(part) if "(" in part and "=" not in part.split("(")[0] else part
            for part in parts
        ]
        inner = f"{expression[start:head]}({', '.join(args)})"
        name = f"%v{len(self.body)}"
        self.body.append(f"{name} = {inner}")
        return name


def program(seed: int) -> Written:
    """Return a random program with two operators at the ends of what they take."""
    chosen = random.Random(seed)
    inputs = _inputs(np.random.default_rng(seed))
    names = {name: f"%{name}" for name in inputs}
    writer = Writer()
    kinds = (AT_ZERO, AT_ONE, AT_WHOLE, ROWS)
    sources = [writer.let(chosen.choice(chosen.choice(kinds)).format(**names)) for _ in range(2)]
    results = []
    for source in sources:
        form = chosen.choice(chosen.choice((ENDS, STEPS)))
        found = writer.let(form.replace("{}", source).format(**names))
        if chosen.random() < 0.4:
            found = writer.let(f"multiply({found}, %p)")
        results.append(writer.let(f"add({writer.let('multiply(%zeros, %p)')}, {found})"))
    writer.body.append(f"%results = ({', '.join(results)})")
    types = {f"%{n}": f"f32[{', '.join(map(str, v.shape))}]" for n, v in inputs.items()}
    return Written(
        tuple(writer.body), types, list(inputs.values()), "%results", f"({TYPE}, {TYPE})"
    )


__all__ = ["program"]
