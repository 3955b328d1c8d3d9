"""Long programs, deep ones, and ones that grow: none overflows a stack or takes forever."""

from __future__ import annotations

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes import inline_functions, pipeline
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.catalog import default_pipeline
from reference_vm.passes.context import Pass, PassContext
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.inline_functions import SMALL, InlineFunctions
from reference_vm.text import parse
from reference_vm.types import DeviceMap

CONTEXT = PassContext(OPS, DeviceMap.parse("host=cpu:0,accel=sim:0"))


def test_a_chain_of_views_and_copies_is_compiled_without_recursion() -> None:
    lines = ["%v0 = exp(%x) @host"]
    for i in range(3_000):
        lines.append(f"%v{i + 1} = expand_dims(%v{i}, axes = [0])")
        lines.append(f"%w{i} = squeeze(%v{i + 1}, axes = [0])")
        lines[-2] = lines[-2].replace(f"(%v{i},", f"(%{f'w{i - 1}' if i else 'v0'},")
    lines.append("%y = exp(%w2999) @accel")
    body = "\n".join(lines)
    module = parse(
        f"module {{ vdevice @host, @accel fn @main(%x: f32[4]) -> f32[4] {{ {body} return %y }} }}"
    )

    after = pipeline.run(module, default_pipeline(), CONTEXT)

    copies = [
        b for b in rewrite.walk(after.functions[0].body) if b.request and "accel" in b.var.name
    ]
    assert len(copies) == 1


def _nested(depth: int) -> str:
    opening = "".join(f"%v{i} = if %c {{ " for i in range(depth))
    closing = "".join("yield %x } else { yield %x } " for _ in range(depth))
    return (
        f"module {{ fn @main(%c: bool[], %x: f32[4]) -> f32[4] {{ {opening}{closing}return %x }} }}"
    )


def test_a_hundred_nested_regions_compile() -> None:
    pipeline.run(parse(_nested(rewrite.MAX_DEPTH)), default_pipeline(), CONTEXT)


def test_more_nested_regions_are_refused() -> None:
    with pytest.raises(CompileError) as error:
        pipeline.run(parse(_nested(rewrite.MAX_DEPTH + 1)), default_pipeline(), CONTEXT)

    assert error.value.diagnostics[0].code == "nesting-too-deep"


def _doubling(count: int) -> Module:
    """A program that calls ``@f0`` 2 ** ``count`` times."""
    functions = ["fn @f0(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y }"]
    functions.extend(
        f"fn @f{i}(%x: f32[4]) -> f32[4] {{ %y = @f{i - 1}(%x) %z = @f{i - 1}(%y) return %z }}"
        for i in range(1, count + 1)
    )
    functions.append(
        f"fn @main(%x: f32[4]) -> f32[4] attrs {{ entry = true }} "
        f"{{ %y = @f{count}(%x) return %y }}"
    )
    return parse(f"module {{ {' '.join(functions)} }}")


def test_calls_that_double_are_inlined_as_far_as_that_pays() -> None:
    passes: list[Pass] = [BindVdevices(), InferTypes(), InlineFunctions()]
    after = pipeline.run(_doubling(40), passes, CONTEXT)

    sizes = [sum(1 for _ in rewrite.walk(f.body)) for f in after.functions]
    assert 1 < len(sizes) < 10
    assert max(sizes) < 2 * SMALL
    assert "f0" not in after.by_name


def test_a_function_that_has_grown_to_the_limit_inlines_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inline_functions, "LIMIT", 30)
    passes: list[Pass] = [BindVdevices(), InferTypes(), InlineFunctions()]

    after = pipeline.run(_doubling(10), passes, CONTEXT)

    assert all(sum(1 for _ in rewrite.walk(f.body)) <= 2 * 30 for f in after.functions)


def test_regions_are_not_nested_deeper_by_inlining_than_the_compiler_walks() -> None:
    functions = ["fn @f0(%c: bool[], %x: f32[4]) -> f32[4] { %y = exp(%x) return %y }"]
    functions.extend(
        f"fn @f{i}(%c: bool[], %x: f32[4]) -> f32[4] {{ %y = if %c {{ %z = @f{i - 1}(%c, %x) "
        f"yield %z }} else {{ yield %x }} return %y }}"
        for i in range(1, 151)
    )
    functions.append(
        "fn @main(%c: bool[], %x: f32[4]) -> f32[4] attrs { entry = true } "
        "{ %y = @f150(%c, %x) return %y }"
    )
    module = parse(f"module {{ {' '.join(functions)} }}")

    after = pipeline.run(module, default_pipeline(), CONTEXT)

    assert max(rewrite.depth(f.body) for f in after.functions) <= rewrite.MAX_DEPTH
