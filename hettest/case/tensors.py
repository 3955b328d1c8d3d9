"""The arrays that a case writes down."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from hettest.case.model import Random, Tensor, Written
from hettest.case.tables import TABLES
from hettest.errors import CaseError, Problem
from hettest.files.reading import DocumentError, read_bytes
from hettest.language import DTYPES, numpy_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Value: TypeAlias = Union[NDArray[Any], str, tuple["Value", ...]]


def value(written: Written, case_file: Path) -> Value:
    """Return the array, or the tuple of values, that a case writes down.

    Raises:
        CaseError: A file is missing, or bytes do not fill the shape.
    """
    if isinstance(written, tuple):
        return tuple(value(item, case_file) for item in written)
    if isinstance(written, str):
        return written
    return _tensor(written, case_file)


def _tensor(tensor: Tensor, case_file: Path) -> NDArray[Any]:
    dtype = numpy_dtype(tensor.dtype)
    if tensor.hex is not None:
        data = bytes.fromhex(tensor.hex)
        return _shaped(np.frombuffer(data, dtype.newbyteorder("<")), tensor, case_file)
    if tensor.file is not None:
        return _loaded(tensor, case_file)
    if tensor.random is not None:
        return random_elements(tensor.random, tensor.dtype, tensor.shape)
    if tensor.cycle is not None:
        table = TABLES[tensor.cycle](DTYPES[tensor.dtype])
        return np.resize(_rounded(table, dtype), tensor.shape)
    if tensor.data is None:
        return np.full(tensor.shape, tensor.fill, dtype)
    return _shaped(_rounded(tensor.data, dtype), tensor, case_file)


def _rounded(elements: tuple[Any, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind in "iub":
        return np.array(elements, dtype)
    return np.array(elements, np.float64).astype(dtype)


def _shaped(array: NDArray[Any], tensor: Tensor, case_file: Path) -> NDArray[Any]:
    try:
        return array.reshape(tensor.shape).copy()
    except ValueError as error:
        raise _wrong(tensor, case_file, str(error)) from error


def _loaded(tensor: Tensor, case_file: Path) -> NDArray[Any]:
    path = case_file.parent / (tensor.file or "")
    try:
        array = np.load(BytesIO(read_bytes(path)), allow_pickle=False)
    except DocumentError as error:
        message = f"{tensor.file} {error.problem.message}"
        raise _wrong(tensor, case_file, message) from error
    except Exception as error:  # NumPy raises many kinds for a file that is no array
        raise _wrong(tensor, case_file, f"{tensor.file} holds no plain array: {error}") from error
    if not isinstance(array, np.ndarray):
        raise _wrong(tensor, case_file, f"{tensor.file} holds several arrays, expected one")
    wanted = numpy_dtype(tensor.dtype)
    if array.dtype != wanted or array.shape != tensor.shape:
        found = f"found {array.dtype}{list(array.shape)}"
        raise _wrong(tensor, case_file, f"{found}, expected {wanted}{list(tensor.shape)}")
    return array


def _wrong(tensor: Tensor, case_file: Path, message: str) -> CaseError:
    return CaseError([Problem(str(case_file), tensor.line, "", message)])


def random_elements(random: Random, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the numbers of ``random``, the same on every machine and in every language.

    Element i is made from SplitMix64's mix of ``seed + (i + 1) * golden``, as
    docs/reference/case-format.md says.
    """
    count = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):
        state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state += np.uint64(random.seed)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    unit = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if DTYPES[dtype].is_float:
        scaled = random.low + (random.high - random.low) * unit
    else:
        scaled = np.floor(random.low + (random.high + 1 - random.low) * unit)
    return scaled.reshape(shape).astype(numpy_dtype(dtype))
