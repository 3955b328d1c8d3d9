"""What classifiers of ``ai.onnx.ml`` make of scores: labels, and a transform."""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.exchange.node import OnnxNode
from reference_vm.exchange.onnx_ops_casts import scalar
from reference_vm.ir.nodes import Var


def transformed(node: OnnxNode, scores: Var, transform: str) -> Var:
    """Return scores after a ``post_transform``, along the last axis.

    Raises:
        CompileError: ``unsupported-operator``: it is one on which engines disagree.
    """
    match transform:
        case "NONE":
            return scores
        case "LOGISTIC":
            return node.build.call("sigmoid", scores)
        case "SOFTMAX":
            return node.build.call("softmax", scores, axis=-1)
        case _:
            raise node.unsupported(f"the post_transform {transform} is not translated")


def labels_of(node: OnnxNode, name: str) -> tuple[int, ...]:
    """Return the labels of a classifier, which must be integers.

    Raises:
        CompileError: ``unsupported-operator``: they are texts; ``invalid-model``: there are none.
    """
    if node.has("classlabels_strings") and node.texts("classlabels_strings"):
        raise node.unsupported("labels that are texts have no dtype here")
    labels = node.integers(name) if node.has(name) else ()
    if not labels:
        raise node.invalid(f"{name} is missing")
    return labels


def second_class(
    node: OnnxNode, score: Var, limit: Var, labels: Sequence[int], transform: str
) -> tuple[Var, Var]:
    """Return label and scores where the score of one of two classes alone is known.

    The second label wins above ``limit``. The other score is what is missing to 1, or after a
    logistic transform the one of the opposite.

    Args:
        node: The classifier.
        score: Of shape ``[n, 1]``.
        limit: Of rank 0.
        labels: Both.
        transform: ``NONE`` or ``LOGISTIC``.
    """
    build = node.build
    flat = build.call("squeeze", score, axes=(1,))
    wins = build.call("greater", flat, limit)
    first, second = (build.constant(label) for label in labels)
    label = build.call("where", wins, second, first)
    if transform == "LOGISTIC":
        other = build.call("sigmoid", build.call("negative", score))
        score = build.call("sigmoid", score)
    else:
        other = build.call("subtract", scalar(node, 1, node.tensor(score).dtype), score)
    return label, build.call("concat", other, score, axis=1)


__all__ = ["labels_of", "second_class", "transformed"]
