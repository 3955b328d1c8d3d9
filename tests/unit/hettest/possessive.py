"""The small backend, which takes memory for its own that is the caller's: for testing isolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hettest.backend.protocol import Mode, Observation, Options, Program
from tests.unit.hettest import fake_backend


@dataclass
class Possessive(fake_backend.Backend):
    """Keeps what it was given and what it returned in the runs before."""

    args: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        return _Executable(super().compile(program, device_map, options), self)

    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        return results


@dataclass
class _Executable:
    whole: Any
    backend: Possessive

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        seen: Observation = self.whole.run(entry, args)
        return replace(seen, results=self.backend.spoil(args, seen.results))


class WritesToArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        args[0].fill(7)
        return results


class WritesToEarlierArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        for old in self.args:
            old.fill(7)
        self.args.append(args[-1])
        return results


class ReshapesArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        args[0].shape = (2, 2)
        return results


class RetypesArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        args[0].dtype = np.int32
        return results


class ReturnsArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        np.copyto(args[0], results)
        return args[0]


class ReturnsPartOfArguments(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        flat = args[0].reshape(-1)
        np.copyto(flat, results.reshape(-1))
        return flat[::1].reshape(results.shape)


class WritesToEarlierResults(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        for old in self.results:
            old.fill(7)
        self.results.append(results)
        return results


class ReusesResults(Possessive):
    def spoil(self, args: Sequence[Any], results: Any) -> Any:
        self.results.append(results)
        np.copyto(self.results[0], results)
        return self.results[0]
