"""What onnxruntime's processor has no kernel for, as version 1.32 says when it loads a model.

By operator of the language: the dtypes of the first operand for which the model is refused with
``NOT_IMPLEMENTED``, or the run with a message that the dtype is not supported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_WITHOUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh"), "f64"),
    **dict.fromkeys(("tan", "cosh", "sinh", "erf", "gelu", "mish", "softplus", "softsign"), "f64"),
    **dict.fromkeys(("elu", "hard_sigmoid", "hard_swish", "leaky_relu", "prelu", "selu"), "f64"),
    **dict.fromkeys(("thresholded_relu", "average_pool", "lp_pool", "conv", "resize"), "f64"),
    **dict.fromkeys(("conv_transpose", "instance_norm", "lrn", "rnn", "gru", "lstm"), "f64"),
    **dict.fromkeys(("argmax", "argmin"), "i16 u16 u32 u64"),
    **dict.fromkeys(("max", "min", "sum", "prod", "mean", "cumulative_sum"), "u32 u64"),
    **dict.fromkeys(("maximum", "minimum", "clip", "pad"), "i16 u16"),
    **dict.fromkeys(("tril", "triu", "einsum"), "i8 i16 u8 u16 u32 u64"),
    "det": "f64",
    "eye_like": "bool i8 i16 u8 u16 u32",
    "nonzero": "i8 i16 u16 u32 u64 f64",
    "relu": "i16 i64",
    "top_k": "u16 u32 u64",
    "unique": "bool i16 i32 u8 u16 u32 u64",
}

ABSENT: Final = frozenset(
    f"-op:{name}:{dtype}" for name, dtypes in _WITHOUT.items() for dtype in dtypes.split()
)
"""The claims that take these words away."""
