"""Builds and runs Relax modules; lives in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from hettest.adapters.child import engine_errors
from hettest.adapters.reading import HOST, Task
from hettest.adapters.tvm_translation import Translated, translate
from hettest.backend.protocol import Copy, Execution, Observation

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

MOST_BUILT: Final = 64
"""Programs that are kept built; beyond, the oldest is built again when needed."""


@final
class Engine:
    """Relax: its compiler and its virtual machine."""

    def __init__(self) -> None:
        import tvm
        import tvm.relax

        self.tvm: Any = tvm
        self.built: dict[Task, Built] = {}

    def compile(self, task: Task) -> None:
        """Build the task's function with the default pipeline."""
        if len(self.built) >= MOST_BUILT:
            del self.built[next(iter(self.built))]
        self.built[task] = build(self.tvm, task)

    def run(self, task: Task, args: Sequence[Value]) -> Observation:
        """Run the task's function."""
        if task not in self.built:
            self.compile(task)
        return self.built[task].run(args)


@final
@dataclass(frozen=True)
class Built:
    """A function in a virtual machine, and what its compiler's types say."""

    tvm: Any
    machine: Any
    parameters: Sequence[Any]
    """The types of the parameters after planning."""

    names: Sequence[str]
    """Of the parameters: ``main/%a``."""

    executions: tuple[Execution, ...]
    moved: tuple[str | None, ...]
    """The program's variable that each ``to_vdevice`` moves, in order."""

    default: str

    def run(self, args: Sequence[Value]) -> Observation:
        copies: list[Copy] = []
        handed = [
            self._hand_over(arg, type_, name, copies)
            for arg, type_, name in zip(args, self.parameters, self.names, strict=True)
        ]
        rows: list[Copy] = []
        self.machine.set_instrument(self._instrument(rows))
        try:
            with engine_errors("run"):
                results = self._results(self.machine["main"](*handed))
        finally:
            self.machine.set_instrument(None)
        copies += self._named(rows)
        return Observation(results=results, executions=self.executions, copies=copies)

    def _hand_over(self, arg: Value, type_: Any, name: str, copies: list[Copy]) -> Any:
        """Return an argument on the device of its parameter; direct calls move nothing."""
        if isinstance(arg, tuple):
            parts = zip(arg, type_.fields, strict=True)
            return tuple(self._hand_over(part, field, name, copies) for part, field in parts)
        assert not isinstance(arg, str), "Relax has no values of data types"
        device = device_of(type_) or self.default
        if device != HOST:
            copies.append(Copy(HOST, device, name, arg.nbytes, "argument"))
        number = int(device.partition(":")[2])
        with engine_errors("run"):
            return self.tvm.runtime.tensor(arg, self.tvm.cpu(number))

    def _instrument(self, rows: list[Copy]) -> Any:
        tensor = self.tvm.runtime.Tensor

        def note(_: Any, op: str, before: bool, result: Any, *args: Any) -> None:
            if before or "to_device" not in op:
                return
            (source, *_rest) = [arg for arg in args if isinstance(arg, tensor)]
            rows.append(Copy(str(source.device), str(result.device), None, _bytes(source)))

        return note

    def _named(self, rows: list[Copy]) -> Iterator[Copy]:
        """Yield the transfers with their variables, if there are as many as the compiler said.

        Which of them were inserted and which are the program's own is not told apart: all count as
        copies, and arguments are not among them.
        """
        known = self.moved if len(self.moved) == len(rows) else (None,) * len(rows)
        for row, name in zip(rows, known, strict=True):
            yield Copy(row.source, row.target, name, row.bytes, "read")

    def _results(self, value: Any) -> Value:
        if isinstance(value, self.tvm.runtime.Tensor):
            return value.numpy()  # type: ignore[no-any-return]
        return tuple(self._results(item) for item in value)


def build(tvm: Any, task: Task) -> Built:
    """Return the task's function, built by Relax's default pipeline.

    Raises:
        Refused: Relax refuses the program.
    """
    translated = translate(tvm, task)
    several = len(translated.devices) > 1
    with engine_errors("compile"):
        module = translated.module
        if several:
            module = tvm.relax.transform.RealizeVDevice()(module)
        executable = tvm.relax.build(module, None if several else "llvm")
        devices = [tvm.cpu(int(name.partition(":")[2])) for name in translated.devices]
        machine = tvm.relax.VirtualMachine(executable, devices)
    main = module["main"]
    default = translated.devices[0]
    return Built(
        tvm,
        machine,
        [param.ty for param in main.params],
        [translated.names[param.name] for param in main.params],
        tuple(_executions(main, translated, default)),
        tuple(_moved(main, translated.names)),
        default,
    )


def _bindings(main: Any) -> Iterator[Any]:
    for block in main.body.blocks:
        yield from block.bindings


def _executions(main: Any, translated: Translated, default: str) -> Iterator[Execution]:
    for binding in _bindings(main):
        found = translated.made.get(binding.var.name)
        if found is not None:
            op, name = found
            yield Execution(op, (name,), device_of(binding.var.ty) or default)


def _moved(main: Any, names: Mapping[str, str]) -> Iterator[str | None]:
    for binding in _bindings(main):
        value = binding.value
        if getattr(getattr(value, "op", None), "name", None) == "relax.to_vdevice":
            yield names.get(getattr(value.args[0], "name", ""))


def device_of(type_: Any) -> str | None:
    """Return the device of a Relax tensor type, or of a tuple's first; ``None`` if unknown."""
    fields = getattr(type_, "fields", None)
    if fields is not None:
        return device_of(fields[0]) if len(fields) else None
    placed = getattr(type_, "vdevice", None)
    return None if placed is None else f"cpu:{placed.vdevice_id}"


def _bytes(tensor: Any) -> int:
    size = 1
    for dim in tensor.shape:
        size *= int(dim)
    itemsize: int = tensor.numpy().itemsize
    return size * itemsize
