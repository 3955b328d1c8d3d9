"""Protobuf messages from bytes that may be anything."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import FunctionProto, ModelProto

MessageT = TypeVar("MessageT", ModelProto, FunctionProto)


def parsed(message: MessageT, data: bytes) -> MessageT | None:
    """Return ``message`` filled from ``data``; ``None`` if they are no such message."""
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message


__all__ = ["parsed"]
