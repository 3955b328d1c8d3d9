"""Which instructions of real models the native executor leaves to Python, once it knows the model.

    python -m benchmarks.leaves                  # all models
    python -m benchmarks.leaves silero MiniLM    # only those whose name contains a word

Each is a word on why a small model is slower than it could be: leaving costs microseconds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

import reference_vm as rv
from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile, models
from benchmarks.real_models.shapes import declared_shapes
from reference_vm.session import Session


def leaves(model: ModelFile, siblings: Sequence[ModelFile]) -> Counter[str]:
    """Return what Python did in the fourth of four equal runs.

    Raises:
        Unavailable: The model's file cannot be had.
    """
    path = fetch(model, siblings)
    module, inputs = rv.from_onnx(path), inputs_for(model, declared_shapes(path))
    session = Session(rv.compile(module))
    args = [inputs[p.name] for p in module.by_name["main"].params]
    for _ in range(3):
        session.run("main", *args)
    before = session.left_to_python()
    session.run("main", *args)
    return session.left_to_python() - before


def main(words: Sequence[str] = ()) -> int:
    """Print the leaves of the models whose name contains one of ``words``, or of all."""
    every = models()
    for model in every:
        if words and not any(word.lower() in model.id.lower() for word in words):
            continue
        try:
            found = leaves(model, every)
        except Unavailable as error:
            print(f"{model.id}: not run: {error}")
            continue
        listed = ", ".join(f"{what} {times}x" for what, times in found.most_common())
        print(f"{model.id}: {listed or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
