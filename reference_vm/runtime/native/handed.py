"""Values of data types on their way into a run, and out of it.

What a caller hands over is listed here, in one walk, as words (`layout.Handed`), of which the loop
makes cells (`native.handing`); of a result the loop makes the list. So a node costs neither side an
object of Python's, but for the tuple and the arrays that the caller sees.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, Union, final

import numpy as np

from reference_vm.bytecode.executable import Executable, FunctionCode, Parameter
from reference_vm.devices.api import Buffer, Tensor
from reference_vm.devices.faults import OutOfMemory
from reference_vm.jit.arrays import DATA, DESCRIPTION, FLAGS, PLAIN, as_expected
from reference_vm.jit.words import load
from reference_vm.runtime.arguments import device_of, differ, place_arguments
from reference_vm.runtime.frames import Run
from reference_vm.runtime.holds import Data
from reference_vm.runtime.native.handing import OTHERWISE
from reference_vm.runtime.native.heap import Words, address_of
from reference_vm.runtime.native.layout import SLOT, WORD, Command, Form, Handed, Left, Slot
from reference_vm.runtime.native.makers import Constructor
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.trees import Tree, tree_of
from reference_vm.runtime.native.values import Values
from reference_vm.types import HOST, AdtType, DType, Shape, TensorType, TupleType, Type
from reference_vm.types.arrays import to_numpy

_WORDS: Final = (ctypes.c_int64 * (1 << 44)).from_address(0)
"""All memory, as words."""

_FIRST: Final = 1 << 10
"""Items that a list of a result has room for at first."""


@final
@dataclass(eq=False)
class _TensorPlan:
    """A tensor on the host that is handed over."""

    dtype: DType
    shape: Shape | None
    description: int
    """The address of NumPy's dtype object, which must be the array's."""

    forms: dict[tuple[int, ...], int] = field(default_factory=dict)
    """By dims: the forms that were met in this call."""


@final
@dataclass(eq=False)
class _TuplePlan:
    """A tuple that is handed over; the plans of its items, from the last to the first."""

    items: Sequence[_Plan]


@final
@dataclass(eq=False)
class _Made:
    """A value that a constructor makes."""

    maker: int
    length: int
    """Of the tuple: the name and the fields."""

    fields: Sequence[_Plan]
    """From the last to the first."""


@final
@dataclass(eq=False)
class _DataPlan:
    """A value of a data type that is handed over."""

    type: AdtType
    constructors: dict[str, _Made] = field(default_factory=dict)
    """Those that were met, by name: a type may name ever larger ones."""


_Plan: TypeAlias = Union[_TensorPlan, _TuplePlan, _DataPlan]


class _Unlisted(Exception):
    """Something is not a plain tuple, name or array on the host: it goes the interpreter's way."""


@final
@dataclass(frozen=True)
class Listed:
    """What was handed over for one parameter, so that the path's replay can have it."""

    words: Words
    """As they were before cells were made of them."""

    serial: int
    """The number of the buffer of the first tensor, as they are numbered: the last in the list."""

    def value(self, program: NativeProgram, seen: Mapping[int, Buffer]) -> Any:
        """Return the value as the interpreter has it, without data."""
        host = program.image.host
        number, open_ = self.serial, list[Any]()
        marks, forms = (self.words[i::SLOT].tolist() for i in (Slot.REFERENCE, Slot.FORM))
        for is_data, form in zip(reversed(marks), reversed(forms), strict=True):
            if is_data:
                maker = program.makers[form]
                assert isinstance(maker, Constructor)
                fields = tuple(_nested(tree, open_) for tree in maker.trees)
                open_.append(Data(maker.data_type, maker.tag, fields))
                continue
            known = program.forms[form]
            assert known.dtype is not None
            buffer = seen.get(number) or Buffer(host, known.nbytes, None)
            open_.append(Tensor(buffer, 0, known.dtype, known.dims, known.nbytes))
            number += 1
        return open_.pop()


def _nested(tree: Tree, open_: list[Any]) -> Any:
    """Take the next values from the end of a list, nested as a tree is."""
    return open_.pop() if tree is None else tuple([_nested(t, open_) for t in tree])


@final
class DataIn:
    """Lists what is handed in for parameters of data types, and has cells made of it."""

    def __init__(
        self, program: NativeProgram, values: Values, call: Callable[[int, int], int]
    ) -> None:
        self._program = program
        self._values = values
        self._call = call
        self._plans: dict[Type, _Plan] = {}
        self._possible = as_expected()

    def place(
        self, code: FunctionCode, args: Sequence[Any], run: Run
    ) -> tuple[list[Any], list[Any]]:
        """Return the registers' first values, and what the path is to note of them.

        Raises:
            BindError: An argument is not what its parameter says.
        """
        image, params = self._program.image, code.params
        lists = self._lists(params, args)
        rest = [i for i in range(len(params)) if i not in lists]
        placed = place_arguments(image, [params[i] for i in rest], [args[i] for i in rest], run)
        values = dict(zip(rest, placed, strict=True))
        noted = dict(values)
        for i, words in lists.items():
            values[i], noted[i] = self._put(words)
        return [values[i] for i in range(len(params))], [noted[i] for i in range(len(params))]

    def _lists(self, params: Sequence[Parameter], args: Sequence[Any]) -> Mapping[int, Words]:
        """Return the list of items of each argument for a data type, by the parameter's position.

        None at all if any of them is not made of plain tuples, names, and arrays as the parameter
        says: it may still be right.
        """
        found: dict[int, Words] = {}
        if not self._possible:
            return found
        for plan in self._plans.values():
            if isinstance(plan, _TensorPlan):
                plan.forms.clear()
        try:
            for i, (param, arg) in enumerate(zip(params, args, strict=True)):
                if isinstance(param.type, AdtType):
                    found[i] = self._list(self._plan(param.type), arg)
        except _Unlisted:
            return {}
        return found

    def _put(self, words: Words) -> tuple[Any, Listed]:
        """Make cells of listed items; return the whole, and what is to be noted of it."""
        record = np.empty(Handed.ITEMS + words.size + SLOT, dtype=np.int64)
        handed = address_of(record)
        record[Handed.COUNT], record[Handed.TOP] = words.size // SLOT, handed + record.nbytes
        record[Handed.ITEMS : -SLOT] = words
        listed = Listed(words, self._program.memory.serial)
        while (lacking := self._call(Command.TAKE_IN, handed)) != Left.RETURNED:
            if lacking == Left.BUFFERS:
                self._program.memory.grow_table()
            else:
                self._program.cell_memory.make_room()
        return self._values.get(int(record[Handed.TOP]), None), listed

    def _list(self, plan: _Plan, arg: Any) -> Words:
        """Return the items of an argument.

        Raises:
            _Unlisted: It is not what the plan says.
        """
        memory, found = _WORDS, list[int]()
        plans, args = [plan], [arg]
        while plans:
            plan, arg = plans.pop(), args.pop()
            kind = type(arg)
            if kind is np.ndarray:
                at = id(arg) // WORD
                if (
                    type(plan) is not _TensorPlan
                    or memory[at + DESCRIPTION // WORD] != plan.description
                    or memory[at + FLAGS // WORD] & PLAIN != PLAIN
                ):
                    raise _Unlisted
                form = plan.forms.get(arg.shape) or self._form(plan, arg.shape)
                found += (memory[at + DATA // WORD], 0, form)
            elif kind is not tuple:
                raise _Unlisted
            elif type(plan) is _DataPlan:
                if not arg or type(arg[0]) is not str:
                    raise _Unlisted
                made = plan.constructors.get(arg[0]) or self._constructor(plan, arg[0])
                if len(arg) != made.length:
                    raise _Unlisted
                found += (0, 1, made.maker)
                plans += made.fields
                args += arg[:0:-1]
            elif type(plan) is _TuplePlan and len(arg) == len(plan.items):
                plans += plan.items
                args += arg[::-1]
            else:
                raise _Unlisted
        return np.array(found, dtype=np.int64)

    def _form(self, plan: _TensorPlan, dims: tuple[int, ...]) -> int:
        """Return the form of an array that a parameter allows.

        Raises:
            _Unlisted: It does not.
        """
        shape = plan.shape
        if shape is not None and (len(shape) != len(dims) or differ(shape, dims)):
            raise _Unlisted
        form = self._program.forms.tensor(plan.dtype, dims)
        if not form:
            raise _Unlisted
        plan.forms[dims] = form
        return form

    def _plan(self, type_: Type) -> _Plan:
        """Return how values of a type are listed.

        Raises:
            _Unlisted: They are not.
        """
        found = self._plans.get(type_)
        if found is None:
            found = self._plans[type_] = self._planned(type_)
        return found

    def _planned(self, type_: Type) -> _Plan:
        match type_:
            case TensorType(dtype=dtype, shape=shape) if device_of(type_) == HOST:
                return _TensorPlan(dtype, shape, id(to_numpy(dtype)))
            case TupleType(items=items):
                return _TuplePlan([self._plan(t) for t in reversed(items)])
            case AdtType():
                return _DataPlan(type_)
            case _:
                raise _Unlisted

    def _constructor(self, plan: _DataPlan, name: str) -> _Made:
        """Return how a constructor's values are listed.

        Raises:
            _Unlisted: They are not, or there is none of that name.
        """
        executable: Executable = self._program.image.executable
        index = executable.types_by_name[plan.type.name]
        tag = executable.data_types[index].tag(name)
        if tag is None:
            raise _Unlisted
        fields = executable.field_types(index, tag, plan.type.args)
        maker = Constructor(index, tag, tuple(map(tree_of, fields)))
        plans = [self._plan(t) for t in reversed(fields)]
        made = _Made(self._program.makers.address(maker), 1 + len(fields), plans)
        plan.constructors[name] = made
        return made


@final
class DataOut:
    """Gives a caller what a function returned, if that is values of data types."""

    def __init__(self, program: NativeProgram, call: Callable[[int, int], int]) -> None:
        self._program = program
        self._call = call
        self._possible = as_expected()

    def result(self, tree: Tree) -> Any:
        """Return the result, nested as its type's tree says, which the loop is at the end of.

        ``None`` if there is anything inside but values of data types and tensors on the host, or
        if memory is scarce: nothing has changed then.
        """
        words = self._listed() if self._possible else None
        if words is None:
            return None
        count = (words.size - Handed.ITEMS) // SLOT
        references = words[Handed.ITEMS + Slot.REFERENCE :: SLOT].tolist()
        forms = words[Handed.ITEMS + Slot.FORM :: SLOT].tolist()
        tensors = [f for f, r in zip(forms, references, strict=True) if r > 0]
        if not self._is_room(tensors):
            return None
        arrays, open_ = self._built(forms)
        words[Handed.COUNT], words[Handed.TOP] = count, id(arrays)
        self._call(Command.COPY_OUT, address_of(words))
        return _nested(tree, open_)

    def _listed(self) -> Words | None:
        """Return the list of the result, with its head."""
        room = _FIRST
        while True:
            record = np.empty(Handed.ITEMS + room * SLOT, dtype=np.int64)
            record[Handed.COUNT] = room
            count = self._call(Command.LIST_OUT, address_of(record))
            if count >= 0:
                return record[: Handed.ITEMS + count * SLOT]
            if count == OTHERWISE:
                return None
            room *= 4

    def _is_room(self, tensors: Sequence[int]) -> bool:
        """Count tensors of these forms as delivered, unless the machine has no memory for them."""
        host, known = self._program.image.host, self._program.forms
        total = sum(known[form].nbytes * times for form, times in Counter(tensors).items())
        try:
            host.deliver(total)
        except OutOfMemory:
            return False
        host.ledger.copies["out"] += len(tensors)
        host.ledger.bytes["out"] += total
        return True

    def _built(self, forms: Sequence[int]) -> tuple[tuple[Any, ...], list[Any]]:
        """Return new arrays, in order, and the values that are made of them, the first one last."""
        arrays, open_ = list[Any](), list[Any]()
        kinds = {form: self._kind(form) for form in set(forms)}
        for form in reversed(forms):
            name, trees, flat, dims, dtype = kinds[form]
            if name is None:
                array = np.empty(dims, dtype)
                arrays.append(array)
                open_.append(array)
            elif flat:
                first = len(open_) - len(trees)
                fields = open_[first:]
                del open_[first:]
                open_.append((name, *fields[::-1]))
            else:
                open_.append((name, *[_nested(tree, open_) for tree in trees]))
        arrays.reverse()
        return tuple(arrays), open_

    def _kind(self, form: int) -> tuple[str | None, Sequence[Tree], bool, Any, Any]:
        """Return the constructor's name, its fields' trees, and whether none is a tuple.

        Of a tensor's form: dims and NumPy's dtype instead.
        """
        if load(form, Form.KIND) > 0:
            known = self._program.forms[form]
            assert known.dtype is not None
            return None, (), True, known.dims, to_numpy(known.dtype)
        maker = self._program.makers[form]
        assert isinstance(maker, Constructor)
        slot = self._program.image.executable.data_types[maker.data_type]
        flat = all(tree is None for tree in maker.trees)
        return slot.constructors[maker.tag].name, maker.trees, flat, None, None


__all__ = ["DataIn", "DataOut", "Listed"]
