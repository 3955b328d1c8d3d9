"""The small backend, with something in it that no backend should do: for testing the kit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program
from tests.unit.hettest import fake_backend


class _Fake(fake_backend.Backend):
    pass


class _Exiting:
    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> NoReturn:
        sys.exit(0)


class ExitsInRun(_Fake):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        return _Exiting()


class ExitsInCompile(_Fake):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        raise SystemExit


class RaisesBaseException(_Fake):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        raise BaseException("at the bottom")


class IsInterrupted(_Fake):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        raise KeyboardInterrupt


class ExitsInDevices(_Fake):
    def devices(self) -> Sequence[DeviceInfo]:
        sys.exit(0)


class ExitsInClose(_Fake):
    def close(self) -> None:
        sys.exit(0)


class ExitsWhenMade(_Fake):
    def __init__(self) -> None:
        sys.exit(0)


class ClaimsAText(_Fake):
    capabilities = "op:*"  # type: ignore[assignment]


class Headless:
    name = "headless"
    capabilities = frozenset[str]()

    def devices(self) -> Sequence[DeviceInfo]:
        return []


class ReadsMarkers(_Fake):
    """Refuses whatever has a marker, as the marker says."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        assert "//~" not in program.text, "the answer stands in the program"
        return super().compile(program, device_map, options)


class FoldsNothing(_Fake):
    """Claims to show executions and shows none."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        made = super().compile(program, device_map, options)

        class Executable:
            def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
                seen = made.run(entry, args)
                return Observation(results=seen.results, executions=(), copies=seen.copies)

        return Executable()
