"""Random loops over placed values, and how few copies they can do with, by trying every home.

Programs of functions that call themselves last, or one another in turn, around one that runs a loop
inside. Every operator is requested; open is where parameters, results and merged values live. What
a run copies is then counted from the definition (`planning.md` section 4): a device that reads a
value gets it once, a parameter that trips pass on unchanged is copied before the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

DEVICES = ("host", "a")
TRIPS = 16
"""How often every loop goes round: what planning takes a trip to weigh."""


@dataclass(frozen=True)
class Step:
    """``%name = operator(operands) @device``, or a call of a loop, ``%name = @f(operands)``."""

    name: str
    operands: tuple[str, ...]
    device: str
    callee: str = ""


@dataclass(frozen=True)
class Loop:
    """A function of a counter and tensors that goes on with ``following`` until that is 0."""

    name: str
    params: tuple[str, ...]
    before: tuple[Step, ...]
    """What every trip does, the last one too."""

    steps: tuple[Step, ...]
    """What every trip does but the last."""

    following: str
    passed: tuple[str, ...]
    last: tuple[Step, ...]
    result: str

    @property
    def invariant(self) -> frozenset[str]:
        """The parameters that each trip passes on to the next as they came."""
        if self.following != self.name:
            return frozenset()
        return frozenset(p for p, v in zip(self.params, self.passed, strict=True) if p == v)


@dataclass(frozen=True)
class LoopProgram:
    """What ``@main`` makes, the loop that it calls, and what it makes of that."""

    loops: Mapping[str, Loop]
    start: tuple[Step, ...]
    called: str
    passed: tuple[str, ...]
    end: Step

    @property
    def text(self) -> str:
        """The program as a module."""
        functions = "\n".join(_loop_text(loop) for loop in self.loops.values())
        passed = ", ".join(f"%{v}" for v in self.passed)
        return (
            f"module {{\n  vdevice @host, @a\n{functions}\n"
            "  fn @main(%x: f32[4], %n: i64[]) -> f32[4] attrs { entry = true } {\n"
            f"{_lines(self.start, '    ')}\n    %r = @{self.called}(%n, {passed})\n"
            f"{_lines([self.end], '    ')}\n    return %{self.end.name}\n  }}\n}}\n"
        )

    def places(self) -> list[tuple[str, str]]:
        """Return who has no place: parameters and results of functions."""
        return [
            (loop.name, what) for loop in self.loops.values() for what in (*loop.params, "result")
        ]

    def on_host(self) -> int:
        """Return how many copies a run needs if what has no place lives on the host."""
        return _Run(self, dict.fromkeys(self.places(), "host")).copies()

    def least(self) -> int:
        """Return how few copies a run needs, wherever what has no place lives."""
        places = self.places()
        return min(
            _Run(self, dict(zip(places, chosen, strict=True))).copies()
            for chosen in product(DEVICES, repeat=len(places))
        )


def _lines(steps: Sequence[Step], indent: str) -> str:
    return "\n".join(f"{indent}{line}" for step in steps for line in _step_lines(step))


def _step_lines(step: Step) -> Iterator[str]:
    read = ", ".join(f"%{o}" for o in step.operands)
    if step.callee:
        yield f"%{step.name}n = const i64[] {TRIPS}"
        yield f"%{step.name} = @{step.callee}(%{step.name}n, {read})"
    else:
        operator = "negative" if len(step.operands) == 1 else "add"
        yield f"%{step.name} = {operator}({read}) @{step.device}"


def _loop_text(loop: Loop) -> str:
    params = ", ".join(f"%{p}: f32[4]" for p in loop.params)
    passed = ", ".join(f"%{v}" for v in loop.passed)
    return f"""  fn @{loop.name}(%i: i64[], {params}) -> f32[4] {{
    %zero = const i64[] 0
    %one = const i64[] 1
    %more = greater(%i, %zero)
{_lines(loop.before, "    ")}
    %res = if %more {{
      %j = subtract(%i, %one)
{_lines(loop.steps, "      ")}
      %q = @{loop.following}(%j, {passed})
      yield %q
    }} else {{
{_lines(loop.last, "      ")}
      yield %{loop.result}
    }}
    return %res
  }}"""


@dataclass
class _Value:
    holders: set[str]


@dataclass
class _Run:
    """One run, with a home for each parameter and result."""

    program: LoopProgram
    homes: Mapping[tuple[str, str], str]
    count: int = 0
    wanted: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def copies(self) -> int:
        values = {"x": _Value(set(DEVICES))}  # an argument comes where it is read
        self._steps(self.program.start, values)
        values["r"] = self._call(self.program.called, [values[v] for v in self.program.passed])
        self._steps([self.program.end], values)
        return self.count

    def _read(self, value: _Value, device: str) -> None:
        if device not in value.holders:
            value.holders.add(device)
            self.count += 1

    def _steps(self, steps: Sequence[Step], values: dict[str, _Value]) -> None:
        for step in steps:
            if step.callee:
                values[step.name] = self._call(step.callee, [values[o] for o in step.operands])
                continue
            for operand in step.operands:
                self._read(values[operand], step.device)
            values[step.name] = _Value({step.device})

    def _passed(self, callee: Loop, args: Sequence[_Value], *, first: bool) -> dict[str, _Value]:
        values = {}
        for param, arg in zip(callee.params, args, strict=True):
            home = self.homes[callee.name, param]
            devices = {home}
            if param in callee.invariant:
                devices |= self._read_in_trips(callee, param)
                if not first:
                    values[param] = arg
                    continue
            for device in devices:
                self._read(arg, device)
            values[param] = _Value(devices)
        return values

    def _read_in_trips(self, loop: Loop, param: str) -> frozenset[str]:
        """Return where trips read a parameter that they pass on; it is copied there before."""
        return frozenset(
            d for s in (*loop.before, *loop.steps) for o, d in self._reads(s) if o == param
        )

    def _reads(self, step: Step) -> Iterator[tuple[str, str]]:
        if not step.callee:
            yield from ((o, step.device) for o in step.operands)
            return
        callee = self.program.loops[step.callee]
        for operand, param in zip(step.operands, callee.params, strict=True):
            yield operand, self.homes[callee.name, param]
            if param in callee.invariant:
                yield from ((operand, d) for d in self._read_in_trips(callee, param))

    def _call(self, name: str, args: Sequence[_Value]) -> _Value:
        loop, left = self.program.loops[name], TRIPS
        values = self._passed(loop, args, first=True)
        chain = [loop.name]
        while left:
            self._steps((*loop.before, *loop.steps), values)
            following = self.program.loops[loop.following]
            passed = [values[v] for v in loop.passed]
            values = self._passed(following, passed, first=loop is not following)
            loop, left = following, left - 1
            chain.append(loop.name)
        self._steps((*loop.before, *loop.last), values)
        value = values[loop.result]
        for function in reversed(list(dict.fromkeys(chain))):
            home = self.homes[function, "result"]
            self._read(value, home)
            value = _Value({home})
        return value


def loop_program(rng: random.Random, kind: str) -> LoopProgram:
    """Return a random program with a ``plain`` loop, a ``nested`` one or one ``in turn``."""
    loops: dict[str, Loop] = {}
    if kind == "nested":
        loops["inner"] = _loop(rng, "inner", "inner", 1, {})
        loops["outer"] = _loop(rng, "outer", "outer", rng.randrange(1, 3), loops)
    elif kind == "in turn":
        count = rng.randrange(1, 3)
        loops["outer"] = _loop(rng, "outer", "other", count, {})
        loops["other"] = _loop(rng, "other", "outer", count, {})
    else:
        loops["outer"] = _loop(rng, "outer", "outer", rng.randrange(1, 5), {})
    count = len(loops["outer"].params)
    known = ["first"]
    # one reader of an argument, so that it lives there
    start = (Step("first", ("x",), "host"), *_random_steps(rng, "s", known, count + 1))
    passed = tuple(rng.choice(known) for _ in range(count))
    end = Step("end", ("r", rng.choice(known)), rng.choice(DEVICES))
    names: dict[str, str] = {}
    start = _distinct(start, names, {})
    passed = tuple(names.get(v, v) for v in passed)
    end = replace(end, operands=tuple(names.get(v, v) for v in end.operands))
    start = _alive(start, {*passed, *end.operands})
    return LoopProgram(loops, start, "outer", passed, end)


def _loop(
    rng: random.Random, name: str, following: str, count: int, inner: Mapping[str, Loop]
) -> Loop:
    params = tuple(f"{name}p{i}" for i in range(count))
    known = list(params)
    before = _random_steps(rng, f"{name}b", known, rng.randrange(2))
    inside = list(known)
    steps = list(_random_steps(rng, f"{name}v", inside, rng.randrange(1, 4)))
    for callee in inner.values():
        operands = tuple(rng.choice(inside) for _ in callee.params)
        steps.insert(rng.randrange(len(steps) + 1), Step(f"{name}c", operands, "", callee.name))
        steps = _in_order(steps, known)
        inside.append(f"{name}c")
        steps.extend(_random_steps(rng, f"{name}w", inside, rng.randrange(2)))
    passed = tuple(p if rng.random() < 0.25 else rng.choice(inside[-4:]) for p in params)
    last_known = list(known)
    last = _random_steps(rng, f"{name}l", last_known, rng.randrange(3))
    return _simple(
        Loop(name, params, before, tuple(steps), following, passed, last, rng.choice(last_known))
    )


def _simple(loop: Loop) -> Loop:
    """Return ``loop`` without what nobody reads, and with equal operators once."""
    names: dict[str, str] = {}
    made: dict[tuple[tuple[str, ...], str], str] = {}
    before = _distinct(loop.before, names, made)
    in_last = dict(names)
    steps = _distinct(loop.steps, names, dict(made))
    passed = tuple(names.get(v, v) for v in loop.passed)
    last = _distinct(loop.last, in_last, dict(made))
    result = in_last.get(loop.result, loop.result)
    steps, last = _alive(steps, set(passed)), _alive(last, {result})
    read = {*passed, result, *(o for s in (*steps, *last) for o in s.operands)}
    return replace(
        loop, before=_alive(before, read), steps=steps, passed=passed, last=last, result=result
    )


def _distinct(
    steps: Sequence[Step], names: dict[str, str], made: dict[tuple[tuple[str, ...], str], str]
) -> tuple[Step, ...]:
    """Return ``steps`` with equal operators once; ``names`` says what stands for the others."""
    kept = []
    for step in steps:
        step = replace(step, operands=tuple(names.get(o, o) for o in step.operands))
        first = (
            step.name if step.callee else made.setdefault((step.operands, step.device), step.name)
        )
        names[step.name] = first
        if first == step.name:
            kept.append(step)
    return tuple(kept)


def _alive(steps: Sequence[Step], read: set[str]) -> tuple[Step, ...]:
    """Return the steps that lead to ``read``, to which is added what they read."""
    kept = []
    for step in reversed(steps):
        if step.name in read:
            kept.append(step)
            read.update(step.operands)
    return tuple(reversed(kept))


def _in_order(steps: Sequence[Step], known: Sequence[str]) -> list[Step]:
    """Return ``steps`` in an order in which each reads what is made before it."""
    waiting, made, ordered = list(steps), set(known), list[Step]()
    while waiting:
        step = next(s for s in waiting if made.issuperset(s.operands))
        waiting.remove(step)
        made.add(step.name)
        ordered.append(step)
    return ordered


def _random_steps(
    rng: random.Random, prefix: str, known: list[str], count: int
) -> tuple[Step, ...]:
    steps = []
    for index in range(count):
        operands = tuple(rng.choice(known[-4:]) for _ in range(rng.randrange(1, 3)))
        steps.append(Step(f"{prefix}{index}", operands, rng.choice(DEVICES)))
        known.append(steps[-1].name)
    return tuple(steps)


__all__ = ["DEVICES", "TRIPS", "LoopProgram", "loop_program"]
