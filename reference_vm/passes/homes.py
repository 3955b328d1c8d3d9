"""Where the values of a function live, as far as that is decided, while its rules are applied."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.values import Kind, Means, Origin, Use, Value
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Places:
    """The devices that a function may be placed on."""

    host: VirtualDevice
    default: VirtualDevice
    order: tuple[VirtualDevice, ...]
    """All of them, in the order of the device map."""

    def first(self, devices: Collection[VirtualDevice]) -> VirtualDevice:
        """Return the default if it is one of ``devices``, else the first in the map's order."""
        if self.default in devices:
            return self.default
        return next(device for device in self.order if device in devices)


class Callee(Protocol):
    """A function as a call sees it, which may still be being planned."""

    def param(self, leaf: int) -> VirtualDevice | None:
        """Return where leaf ``leaf`` of the parameters lives; ``None``: not known yet."""
        ...

    def result(self, leaf: int) -> VirtualDevice:
        """Return where leaf ``leaf`` of the result lives."""
        ...

    def follows_param(self, leaf: int) -> bool:
        """Whether leaf ``leaf`` of the parameters, which nothing reads, is where a call has it."""
        ...

    def follows_result(self, leaf: int) -> bool:
        """Whether leaf ``leaf`` of the result is such a parameter."""
        ...


@final
class Homes:
    """The devices of one function's operations and values."""

    def __init__(self, graph: FunctionValues, places: Places) -> None:
        self.graph = graph
        self.places = places
        self.on: list[VirtualDevice | None] = []
        """The device of each operation, as far as it has one yet."""

        self.known: dict[int, VirtualDevice] = {}
        """The device of each cell and of each result of a call, as far as it has one yet."""

        self.called: dict[int, Callee] = {}
        """Which function each call goes to."""

    def home(self, value: Value) -> VirtualDevice | None:
        """Return where ``value`` lives, if that does not depend on who reads it."""
        if value.pin is not None:
            return value.pin
        if value.operation is None or self.graph.operations[value.operation].kind is Kind.CALL:
            return self.known.get(value.index)
        return self.on[value.operation]

    def devices(self) -> tuple[VirtualDevice, ...]:
        """Return the device of every value; what is open still follows its readers."""
        values = self.graph.values
        homes = [self.home(value) for value in values]
        late = [i for i, home in enumerate(homes) if home is None]
        readers = self.readers(late)
        for index in late:
            homes[index] = self._by_readers(values[index], readers[index])
        assert None not in homes
        return tuple(home for home in homes if home is not None)

    def _by_readers(self, value: Value, readers: set[VirtualDevice]) -> VirtualDevice:
        host = self.places.host
        if value.origin is Origin.OPERATION:
            return self.places.default
        if value.origin is Origin.PARAMETER and (not readers or host in readers):
            return host
        return self.places.first(readers or (self.places.default,))

    def readers(self, wanted: Iterable[int]) -> dict[int, set[VirtualDevice]]:
        """Return for each value which devices read it; a ``device_copy`` reads wherever it is."""
        found: dict[int, set[VirtualDevice]] = {v: set() for v in wanted}
        if not found:
            return found
        host = self.places.host
        for operation, device in zip(self.graph.operations, self.on, strict=True):
            if device is not None:
                for value in operation.operands:
                    if value in found:
                        found[value].add(device)
            for value in operation.host_operands:
                if value in found:
                    found[value].add(host)
        for read in self.graph.other_reads:
            if read.value in found and read.means is not Means.COPY:
                device = self._device_of(read.use, read.device, read.place, read.operation)
                if device is not None:
                    found[read.value].add(device)
        return found

    def _device_of(
        self, use: Use, device: VirtualDevice | None, place: int, operation: int | None
    ) -> VirtualDevice | None:
        if use is Use.HOST:
            return self.places.host
        if use is Use.STORE:
            return self.home(self.graph.values[place])
        if use is Use.ARGUMENT and operation is not None:
            callee = self.called.get(operation)
            return device if callee is None else callee.param(place)
        return device


__all__ = ["Callee", "Homes", "Places"]
