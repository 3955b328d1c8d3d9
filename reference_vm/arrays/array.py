"""An array of one device, as the array API standard has them, that is not NumPy's in disguise.

Operators, comparisons and indices compute on the device. What would need its data on the host
without saying so (`numpy.asarray`, NumPy's functions, DLPack) is refused with what to do instead;
``bool``, ``int`` and ``float`` of one element fetch it, as the standard says.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, final

from reference_vm.devices.api import Tensor
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:
    import numpy as np

    from reference_vm.arrays.namespace import Namespace

Other: TypeAlias = Any
"""An array of the same device, or a number of Python's."""


def _binary(name: str) -> Callable[[DeviceArray, Other], DeviceArray]:
    def operator(self: DeviceArray, other: Other) -> DeviceArray:
        return self.namespace.binary(name, self, other)

    return operator


def _reflected(name: str) -> Callable[[DeviceArray, Other], DeviceArray]:
    def operator(self: DeviceArray, other: Other) -> DeviceArray:
        return self.namespace.binary(name, other, self)

    return operator


@final
class DeviceArray:
    """Data on a device; its memory is given back with the array."""

    __slots__ = ("__weakref__", "namespace", "tensor")

    __array_ufunc__ = None
    """NumPy's functions refuse it, and leave operators to it."""

    __hash__ = None  # type: ignore[assignment]  # == compares element by element

    def __init__(self, namespace: Namespace, tensor: Tensor) -> None:
        self.namespace = namespace
        self.tensor = tensor
        """Its memory."""

        weakref.finalize(self, namespace.device.free, tensor.buffer)

    @property
    def dtype(self) -> np.dtype[Any]:
        return to_numpy(self.tensor.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.namespace.size(self.shape)

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    @property
    def device(self) -> str:
        """The device's name: ``sim:0``."""
        return self.namespace.name

    @property
    def mT(self) -> DeviceArray:  # noqa: N802 - the standard's name
        """The matrices' transposes."""
        return self.namespace.matrix_transpose(self)

    @property
    def T(self) -> DeviceArray:  # noqa: N802 - the standard's name
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f"found rank {self.ndim}, expected a matrix; use xp.permute_dims")
        return self.namespace.matrix_transpose(self)

    def get(self) -> np.ndarray[Any, Any]:
        """Return a copy in host memory."""
        found: np.ndarray[Any, Any] = self.namespace.device.download(self.tensor)
        return found

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace:
        return self.namespace

    def __repr__(self) -> str:
        return f"DeviceArray({self.device}, {self.dtype}, shape={self.shape})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of rank 0 has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> DeviceArray:
        return self.namespace.item(self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("arrays of a device are not written to; use xp.where")

    def __bool__(self) -> bool:
        return bool(self._element("bool"))

    def __float__(self) -> float:
        return float(self._element("float"))

    def __int__(self) -> int:
        return int(self._element("int"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"found {self.dtype}, expected an integer")
        return int(self._element("an index"))

    def _element(self, what: str) -> Any:
        if self.size != 1:
            raise TypeError(f"found {self.size} elements, {what} is of one; use device.get(array)")
        return self.get().reshape(())[()]

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            f"an array of {self.device} is not copied to the host on the quiet; "
            "use device.get(array), or the functions of device.xp"
        )

    def __dlpack__(self, **options: Any) -> NoReturn:
        raise BufferError(f"an array of {self.device} is not exported; use device.get(array)")

    def __dlpack_device__(self) -> NoReturn:
        raise BufferError(f"an array of {self.device} is not exported; use device.get(array)")

    def __neg__(self) -> DeviceArray:
        return self.namespace.unary("negative", self)

    def __pos__(self) -> DeviceArray:
        return self

    def __abs__(self) -> DeviceArray:
        return self.namespace.unary("abs", self)

    def __invert__(self) -> DeviceArray:
        return self.namespace.bitwise_invert(self)

    def __eq__(self, other: object) -> DeviceArray:  # type: ignore[override]
        return self.namespace.binary("equal", self, other)

    def __ne__(self, other: object) -> DeviceArray:  # type: ignore[override]
        return self.namespace.binary("not_equal", self, other)

    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
