"""Protobuf messages from bytes that may be anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import FunctionProto, ModelProto, TensorProto

MessageT = TypeVar("MessageT", ModelProto, FunctionProto)


def parsed(message: MessageT, data: bytes) -> MessageT | None:
    """Return ``message`` filled from ``data``; ``None`` if they are no such message."""
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message


def has_only_text(message: Any) -> bool:
    """Whether every text field, here and in the messages inside, is text.

    Protobuf hands out one that is not UTF-8 as bytes, unasked.
    """
    pending = [message]
    while pending:
        for descriptor, content in _fields(pending.pop()):
            if descriptor.type == descriptor.TYPE_STRING:
                texts = [content] if isinstance(content, str | bytes) else content
                if not all(isinstance(text, str) for text in texts):
                    return False
            elif descriptor.message_type is not None:
                pending.extend((content,) if hasattr(content, "ListFields") else content)
    return True


def _fields(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the fields that are set; of a tensor only those that hold no elements."""
    if not isinstance(message, TensorProto):
        yield from message.ListFields()
        return
    for name in ("name", "external_data"):
        descriptor = TensorProto.DESCRIPTOR.fields_by_name[name]
        yield descriptor, getattr(message, name)


__all__ = ["has_only_text", "parsed"]
