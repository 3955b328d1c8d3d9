"""A model from a path, bytes or a `ModelProto`, parsed; and the folder for its external data."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias, Union

from onnx import ModelProto

from reference_vm.exchange.protobuf import has_only_text, parsed
from reference_vm.exchange.refusals import invalid

ModelSource: TypeAlias = Union[str, Path, bytes, ModelProto]


def load(source: ModelSource) -> tuple[ModelProto, Path | None]:
    """Return the model and the folder that it lies in, if it lies in one.

    Raises:
        CompileError: ``invalid-model``: there is no such file, or it is no ONNX model.
    """
    model, folder = _read(source)
    if not model.HasField("graph"):
        raise invalid("model", "has no graph")
    if not has_only_text(model):
        raise invalid("model", "holds a name that is no UTF-8 text")
    return model, folder


def _read(source: ModelSource) -> tuple[ModelProto, Path | None]:
    if isinstance(source, ModelProto):
        return source, None
    if isinstance(source, bytes):
        return _parsed(source, "model"), None
    if not isinstance(source, str | Path):
        raise invalid(
            "model", f"is a {type(source).__name__}, expected a path, bytes or ModelProto"
        )
    path = Path(source)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise invalid(f"model {path.name}", f"cannot be read: {reason}") from error
    return _parsed(data, f"model {path.name}"), path.parent


def _parsed(data: bytes, where: str) -> ModelProto:
    model = parsed(ModelProto(), data)
    if model is None:
        raise invalid(where, "is not an ONNX model, or is cut short")
    return model
