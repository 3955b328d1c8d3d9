"""Every message of the compiler and the runtime, one constructor per code.

The rest says *what* is wrong by calling a function of this module; how it is worded is decided
here. ``docs/reference/errors.md`` has a section for each code, and a test holds the two equal.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from reference_vm.diagnostics.diagnostic import Diagnostic
from reference_vm.source import Span


def _nearest(name: str, known: Sequence[str], otherwise: str) -> str:
    close = difflib.get_close_matches(name, known, n=1) if len(known) <= 500 else []
    return f"did you mean {close[0]}?" if close else otherwise


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def unknown_vdevice(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    listed = ", ".join(f"@{k}" for k in known) or "none"
    return Diagnostic(
        code="unknown-vdevice",
        message=f"@{name} is not a virtual device of this module, which has {listed}",
        span=span,
        help=f"name it in the device map: {name}=cpu:0"
        if span is None  # an option said it, and the program may have no text
        else f"declare it at the top of the module: vdevice @{name}",
    )


def unknown_role(role: str, known: Sequence[str]) -> Diagnostic:
    """Return ``unknown-vdevice`` for a role of the device map that a program does not have."""
    listed = ", ".join(f"@{k}" for k in known)
    return Diagnostic(
        code="unknown-vdevice",
        message=f"the device map binds @{role}, but the program has {listed}",
        help=_nearest(role, (*known, "host"), f"leave {role} out of the device map"),
    )


def unknown_operator(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unknown-operator",
        message=f"{name} is not an operator",
        span=span,
        help=_nearest(name, known, "hettest explain operators lists the operators"),
    )


def wrong_arity(op: str, found: int, least: int, most: int | None, span: Span | None) -> Diagnostic:
    if most is None:
        expected = f"{least} or more"
    else:
        expected = str(least) if least == most else f"{least} to {most}"
    return Diagnostic(
        code="wrong-arity",
        message=f"{op}: found {found} operand{'' if found == 1 else 's'}, expected {expected}",
        span=span,
    )


def missing_operand(op: str, operand: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="wrong-arity",
        message=f"{op}: operand {operand} is left out, but it is not optional",
        span=span,
    )


def unknown_attribute(op: str, name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    listed = ", ".join(known) or "none"
    return Diagnostic(
        code="unknown-attribute",
        message=f"{op}: has no attribute {name}; it has {listed}",
        span=span,
        help=_nearest(name, known, f"leave {name} out"),
    )


def missing_attribute(op: str, name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="missing-attribute",
        message=f"{op}: attribute {name} has no default and is missing",
        span=span,
        help=f"write {name} = … after the operands",
    )


def attribute_type(
    op: str, name: str, found: object, expected: str, span: Span | None
) -> Diagnostic:
    return Diagnostic(
        code="attribute-type",
        message=f"{op}: attribute {name} is {found!r}, expected {expected}",
        span=span,
    )


# ONNX exchange: there is no text to point at, so the place is said in words, `node 3 (Conv "c1")`.


def invalid_model(where: str, message: str, help: str | None = None) -> Diagnostic:  # noqa: A002 - the diagnostic's own word
    return Diagnostic("invalid-model", f"{where}: {message}", None, help)


def unsupported_operator(where: str, message: str, help: str | None = None) -> Diagnostic:  # noqa: A002 - the diagnostic's own word
    return Diagnostic("unsupported-operator", f"{where}: {message}", None, help)


def unsupported_type(
    where: str, found: str, expected: str = "a tensor of numbers or bools"
) -> Diagnostic:
    return Diagnostic(
        code="unsupported-type",
        message=f"{where}: found {found}, expected {expected}",
        help="hettest explain language#types lists the dtypes",
    )


def nondeterministic(where: str, message: str) -> Diagnostic:
    return Diagnostic(
        code="nondeterministic",
        message=f"{where}: {message}, so no result could be judged",
        help="make the random values outside the model and hand them in as an input",
    )


def external_data(where: str, message: str) -> Diagnostic:
    return Diagnostic(
        code="external-data",
        message=f"{where}: {message}",
        help="external data is read from files in the model's own folder only",
    )


def invalid_tree(path: str, found: str, expected: str, help: str | None = None) -> Diagnostic:  # noqa: A002 - the diagnostic's own word
    where = path or "the tree"
    return Diagnostic("invalid-tree", f"{where}: found {found}, expected {expected}", None, help)


def inexpressible(where: str, message: str) -> Diagnostic:
    return Diagnostic("inexpressible", f"{where}: {message}")


def oracle_unsupported(construct: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="oracle-unsupported",
        message=f"the oracle has no meaning for {construct}",
        span=span,
        help="state the expected result in the case",
    )


def data_error(code: str, message: str, span: Span | None, hint: str | None) -> Diagnostic:
    return Diagnostic(code=code, message=message, span=span, help=hint)


# Passes.


def unbound_role(role: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    listed = ", ".join(known) or "no role"
    return Diagnostic(
        code="unbound-role",
        message=f"role @{role} has no device: the device map binds {listed}",
        span=span,
        help=f"add it to the device map: {role}=cpu:0",
    )


def role_bound_twice(role: str, text: str, mapped: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="role-bound-twice",
        message=f"role @{role} is {text} in the program and {mapped} in the device map",
        span=span,
        help=f"leave {role} out of the device map, or declare it without a device",
    )


def nesting_too_deep(function: str, found: int, limit: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="nesting-too-deep",
        message=f"@{function} nests regions {found} deep, expected {limit} at most",
        span=span,
        help="move inner regions into functions of their own",
    )


def type_mismatch(what: str, found: str, expected: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="type-mismatch",
        message=f"{what}: found {found}, expected {expected}",
        span=span,
    )


def not_statically_known(what: str, found: str, expected: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="type-mismatch",
        message=f"{what}: found {found}, expected {expected}",
        span=span,
        help="only a run can tell whether they agree: assert it by match_cast",
    )


def match_cast_without_type(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="type-mismatch",
        message=f"match_cast: %{name} has no type, expected the type to cast to",
        span=span,
        help=f"write it on the binding: %{name}: f32[n, 4] = match_cast(…)",
    )


def no_such_item(name: str, index: int, count: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="type-mismatch",
        message=f"%{name}[{index}]: found a tuple of {count}, expected an index below {count}",
        span=span,
    )


def unknown_function(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unknown-function",
        message=f"@{name} is not a function of this module",
        span=span,
        help=_nearest(name, known, f"declare it: fn @{name}(…)"),
    )


def wrong_argument_count(name: str, found: int, expected: int, span: Span | None) -> Diagnostic:
    """Say so of ``@f``, a function, or of ``%f``, a closure: ``name`` has its sigil."""
    return Diagnostic(
        code="wrong-arity",
        message=f"{name}: found {found} argument{'' if found == 1 else 's'}, expected {expected}",
        span=span,
    )


# The text form: what the parser finds.


def syntax_error(found: str, expected: str, span: Span | None) -> Diagnostic:
    return Diagnostic("syntax-error", f"found {found}, expected {expected}", span)


def reserved_word(word: str, span: Span | None) -> Diagnostic:
    shape = "a shape is an operand: %s = shape[2, n], then reshape(%x, %s)"
    return Diagnostic(
        code="syntax-error",
        message=f"found {word} =, but {word} is a reserved word and names no attribute",
        span=span,
        help=shape if word == "shape" else None,
    )


def unreadable_text(found: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unreadable-text",
        message=f"found {found}, which starts no token",
        span=span,
        help='names are written %x, @f or %"any text"; strings are JSON strings on one line',
    )


def text_nests_too_deep(what: str, limit: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="nesting-too-deep",
        message=f"{what} nest deeper than {limit:,}",
        span=span,
    )


def unsupported_version(found: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unsupported-version",
        message=f"found version {found} of the language, expected 1",
        span=span,
    )


def invalid_device(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic("invalid-device", message, span)


def number_too_large(found: str, span: Span | None) -> Diagnostic:
    shown = found if len(found) <= 24 else f"{found[:20]}… ({len(found)} digits)"
    return Diagnostic(
        code="number-too-large",
        message=f"found {shown}, expected a number below 2^64",
        span=span,
    )


def invalid_dim(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic("invalid-dim", message, span)


def element_count(found: int, shape: Sequence[int], expected: int, span: Span | None) -> Diagnostic:
    dims = ", ".join(map(str, shape))
    return Diagnostic(
        code="element-count",
        message=f"found {_count(found, 'element')}, but shape [{dims}] has {expected}",
        span=span,
        help="data is one flat row-major list; const f32[4] splat 0.0 repeats one element",
    )


def constant_too_large(found: int, limit: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="constant-too-large",
        message=f"found a constant of {found} bytes; those of a module take {limit} at most",
        span=span,
        help="make it at run time, full(%shape, value = 0.0), or read it from a weights file",
    )


def invalid_hex(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="invalid-hex",
        message=message,
        span=span,
        help="hex holds the elements' bytes, little-endian, two digits a byte",
    )


def literal_type(found: str, dtype: str, expected: str, span: Span | None) -> Diagnostic:
    return Diagnostic("literal-type", f"found {found} in {dtype} data, expected {expected}", span)


def literal_out_of_range(found: str, dtype: str, allowed: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="literal-out-of-range",
        message=f"found {found}, but {dtype} holds {allowed}",
        span=span,
    )


def weights_path(found: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="weights-path",
        message=f"found weights file {found!r}, expected a path inside the module's own folder",
        span=span,
        help='write a relative path without "..": from "weights.safetensors" "key"',
    )


def duplicate_attribute(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic("duplicate-attribute", f"attribute {name} is given twice", span)


def unknown_attribute_dim(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="attribute-value",
        message=f"attribute {name} is ?, expected a value known at compile time",
        span=span,
    )


def constructor_operand(name: str, found: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="constructor-operand",
        message=f"{name}: found {found}, but a constructor takes variables only",
        span=span,
        help="bind it to a variable first: %f = @f",
    )


def donated_to_closure(span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="invalid-donation",
        message="a parameter of a closure is marked `donate`",
        span=span,
        help="only parameters of the module's functions can be donated",
    )


# The verifier: rules that need no operator knowledge.


def undefined_variable(name: str, span: Span | None, hint: str | None) -> Diagnostic:
    return Diagnostic("undefined-variable", f"%{name} is not bound here", span, hint)


def redefined_variable(name: str, span: Span | None, first: Span | None) -> Diagnostic:
    return Diagnostic(
        code="redefined-variable",
        message=f"%{name} is bound twice; a name is bound once in a function",
        span=span,
        notes=(("it is bound here first", first),),
    )


def recursive_closure(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="recursive-closure",
        message=f"%{name} is read in the closure that it names, but closures are not recursive",
        span=span,
        help="make it a function of the module, which may call itself",
    )


def duplicate_declaration(
    kind: str, name: str, span: Span | None, first: Span | None
) -> Diagnostic:
    """Return ``duplicate-function``, ``duplicate-type`` or ``duplicate-constructor``."""
    return Diagnostic(
        code=f"duplicate-{kind}",
        message=f"{kind} {name} is declared twice",
        span=span,
        notes=(("it is declared here first", first),),
    )


def duplicate_role(role: str, span: Span | None) -> Diagnostic:
    return Diagnostic("duplicate-vdevice", f"@{role} is declared twice", span)


def duplicate_vdevice(role: str, same: str, device: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="duplicate-vdevice",
        message=f"@{role} is {device}, which @{same} is already",
        span=span,
        help=f"use @{same} for both: two roles of one module are two devices",
    )


def unknown_type(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unknown-type",
        message=f"{name} is not a type of this module",
        span=span,
        help=_nearest(name, known, f"declare it: type {name} {{ … }}"),
    )


def type_arity(name: str, found: int, expected: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="type-arity",
        message=f"found {name} with {_count(found, 'argument')}, expected {expected}",
        span=span,
    )


def unknown_constructor(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unknown-constructor",
        message=f"{name} is not a constructor of this module",
        span=span,
        help=_nearest(name, known, "declare it in a type: type List { Nil, … }"),
    )


def constructor_arity(name: str, found: int, expected: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="constructor-arity",
        message=f"found {name} with {_count(found, 'field')}, expected {expected}",
        span=span,
    )


def mixed_patterns(left: str, right: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="mixed-patterns",
        message=f"patterns of one value are of two types: {left} and {right}",
        span=span,
    )


def non_exhaustive_match(missing: str | None, span: Span | None) -> Diagnostic:
    found = f"no arm matches {missing}" if missing else "the arms are too many to prove exhaustive"
    return Diagnostic(
        code="non-exhaustive-match",
        message=found,
        span=span,
        help="add an arm for it, or `_ => { … }` at the end",
    )


def unreachable_arm(span: Span | None, taking: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unreachable-arm",
        message="no value reaches this arm, since an arm before it takes every value",
        span=span,
        help="put it before that arm, or remove it: arms are tried in order",
        notes=(("this arm takes every value", taking),),
    )


def unbound_dim(symbol: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unbound-dim",
        message=f"the dim {symbol} is not bound here",
        span=span,
        help="a symbol is bound where it stands alone as a dim of a parameter or in match_cast",
    )


def invalid_bounds(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic("invalid-bounds", message, span, "write bounds n in 1..512")


def unknown_shape_literal(span: Span | None) -> Diagnostic:
    return Diagnostic("invalid-dim", "a dim of a shape value is ?, expected a known one", span)


def no_device_here(what: str, vdevice: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="no-device-here",
        message=f"{what} has no device of its own, but is placed on {vdevice}",
        span=span,
        help="leave the suffix out, and place the tensors in it",
    )


def impure_dataflow(what: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="impure-dataflow",
        message=f"found {what} in a dataflow block, which holds pure bindings only",
        span=span,
        help="move it out of the block, or mark the function attrs { pure = true }",
    )


def invalid_donation(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic("invalid-donation", message, span)


def use_after_donation(name: str, span: Span | None, given: Span | None) -> Diagnostic:
    return Diagnostic(
        code="use-after-donation",
        message=f"%{name} is read, but it was donated",
        span=span,
        notes=(("it is donated here", given),),
    )


def argument_left_out(function: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="wrong-arity",
        message=f"@{function}: found none, but a function has no optional operands",
        span=span,
    )


def contradicting_placement(name: str, typed: str, suffix: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="contradicting-placement",
        message=f"%{name} lives on @{typed} by its type and on @{suffix} by its suffix",
        span=span,
        help="leave one of them out, or copy the value: device_copy",
    )


def copy_without_destination(op: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="copy-without-destination",
        message=f"{op}: found no destination",
        span=span,
        help="say where the result lives after it: device_copy(%x) @accel",
    )


# Runtime: what a run found out.


def run_failed(
    code: str,
    message: str,
    place: tuple[str | None, str | None],
    span: Span | None,
    help: str | None = None,  # noqa: A002 - the diagnostic's own word
) -> Diagnostic:
    """``place`` is the operator and the source variable, as far as they are known."""
    return Diagnostic(code, f"{_where(*place)}{message}", span, help)


def operator_failed(
    message: str, place: tuple[str | None, str | None], span: Span | None
) -> Diagnostic:
    return Diagnostic(
        code="operator-failed",
        message=f"{_where(*place)}the operands do not fit: {message}",
        span=span,
        help="a dim that was unknown when the program was compiled turned out not to fit",
    )


def _where(op: str | None, value: str | None) -> str:
    named = f" (%{value})" if value else ""
    return f"{op}{named}: " if op else ""


def bad_argument(code: str, message: str, function: str, span: Span | None) -> Diagnostic:
    return Diagnostic(code=code, message=f"@{function}: {message}", span=span)


def argument_count(function: str, found: int, names: Sequence[str]) -> Diagnostic:
    listed = ", ".join(f"%{n}" for n in names) or "none"
    return Diagnostic(
        code="argument-count",
        message=f"@{function}: found {found} arguments, expected {len(names)}: {listed}",
    )


def unknown_entry(function: object, entries: Sequence[str]) -> Diagnostic:
    if not isinstance(function, str):
        return Diagnostic(
            code="unknown-entry",
            message=f"the entry is of type {type(function).__name__}, expected the name of one: "
            + ", ".join(entries),
            help=f'name it before the arguments: run("{entries[0]}", ...)' if entries else None,
        )
    return Diagnostic(
        code="unknown-entry",
        message=f"@{function} is not an entry of this program, which has "
        + (", ".join(f"@{e}" for e in entries) or "none"),
        help=_nearest(function, entries, "run one of those"),
    )


# Compiler: device maps, devices, and what code generation is given.


def bad_device_map(message: str) -> Diagnostic:
    return Diagnostic(
        code="invalid-device-map",
        message=message,
        help='write role=device pairs, such as "host=cpu:0,accel=sim:0"',
    )


def invalid_option(name: str, found: object, expected: str, help: str | None = None) -> Diagnostic:  # noqa: A002 - the diagnostic's own word
    """``found`` is the value itself: shown if it is short and plain, else by its kind."""
    plain = found is None or isinstance(found, str | bool | int | float)
    shown = repr(found) if plain and len(repr(found)) <= 40 else f"of type {type(found).__name__}"
    return Diagnostic("invalid-option", f"{name} is {shown}, expected {expected}", None, help)


def not_a_module(found: object) -> Diagnostic:
    how = "parse it first, reference_vm.parse(text)" if isinstance(found, str) else None
    return invalid_option("module", found, "a Module", how)


def device_unavailable(
    device: str, reason: str | None, span: Span | None = None, roles: Sequence[str] = ()
) -> Diagnostic:
    bound = f", which is {', '.join(f'@{r}' for r in roles)}," if roles else ""
    return Diagnostic(
        code="device-unavailable",
        message=f"{device}{bound} is not available: {reason or 'no reason given'}",
        span=span,
        help="`hettest doctor` lists the devices and why one is missing",
    )


def unsupported_dtype(device: str, dtype: str, name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unsupported-dtype",
        message=f"%{name} is {dtype} and lives on {device}, which has no {dtype}",
        span=span,
        help="place it on another device, or cast it",
    )


def not_lowered(op: str, needed: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="not-lowered",
        message=f"{op} is left over at code generation; the pass {needed} has not run",
        span=span,
    )


def bad_weights(file: str, key: str, message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="invalid-weights",
        message=f'const from "{file}" "{key}": {message}',
        span=span,
    )


def invalid_program(file: str, member: str | None, message: str) -> Diagnostic:
    place = file if member is None else f"{file}: {member}"
    return Diagnostic(
        code="invalid-program",
        message=f"{place}: {message}",
        help="compile the program again, and save it with this version",
    )


def no_program(file: str, message: str) -> Diagnostic:
    """Return ``invalid-program`` for a file that is none, or another than one that was saved."""
    return Diagnostic(
        code="invalid-program",
        message=f"{file}: {message}",
        help="name a file that Program.save wrote, or reference-vm compile model.hir -o model.rvm",
    )


def unwritable_program(file: str, reason: str) -> Diagnostic:
    return Diagnostic("unwritable-program", f"{file} cannot be written: {reason}")


def results_apart(name: str, first: str, second: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="contradicting-placement",
        message=f"the results of one operator, %{name}, live on @{first} and on @{second}",
        span=span,
        help="an operator runs on one device: copy one result, device_copy",
    )


def unplaced_kernel(function: str, what: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unplaced-kernel",
        message=f"{what} of the primitive function @{function} has no device",
        span=span,
        help="a kernel is placed before planning: write the role into every type, f32[4] @accel",
    )


def unknown_executor(name: str, known: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        code="unknown-executor",
        message=f"{name} compiles nothing here; there are {', '.join(known)}",
        help=_nearest(name, known, "leave the option out to get the preferred one"),
    )


def missing_package(what: str, package: str, extra: str) -> Diagnostic:
    """``extra`` is the extra of this distribution that installs ``package``."""
    return Diagnostic(
        code="missing-package",
        message=f"{what}: found no package {package}, which is not installed",
        help=f"pip install 'hettest[{extra}]'",
    )


def value_on_two_devices(
    name: str,
    home: tuple[str, str, Span | None],
    away: tuple[str, str, Span | None],
) -> Diagnostic:
    """``home`` and ``away`` each say a device, what happens there, and where that is written."""
    (first, there, span), (second, here, reader) = home, away
    return Diagnostic(
        code="value-on-two-devices",
        message=f"%{name} is {there} on @{first} and {here} on @{second}",
        span=reader,
        help="policy error makes no copies: write device_copy, or choose policy copy",
        notes=((f"%{name} is {there} on @{first} here", span),),
    )


def unknown_policy(name: str, known: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        code="unknown-policy",
        message=f"found policy {name!r}, expected {', '.join(known)}",
        help=_nearest(name, known, "leave it out to get copy"),
    )


def contradicting_policy(name: str, first: str, second: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="contradicting-policy",
        message=f"%{name} is in the lists {first} and {second}, expected one policy for a value",
        span=span,
        help="leave it in one of them",
    )


def policy_names(attr: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="attribute-type",
        message=f"{attr}: found one value, expected a list of names",
        span=span,
        help=f'write {attr} = ["x"]',
    )


def missing_property(pass_: str, wanted: str, found: str) -> Diagnostic:
    makers = {
        "typed": "infer-types",
        "bound": "bind-vdevices",
        "placed": "plan-devices",
        "device-local": "insert-copies",
        "primitive": "fuse",
        "planned": "plan-memory",
    }
    return Diagnostic(
        code="missing-property",
        message=f"{pass_}: found a module where {found}, expected a {wanted} one",
        help=f"run {makers[wanted]} first",
    )


def pipeline_syntax(span: Span) -> Diagnostic:
    return Diagnostic(
        code="pipeline-syntax",
        message=f"found {span.text.strip() or 'nothing'}, expected a pass, as in a, b{{option=1}}",
        span=span,
    )


def unknown_pass(name: str, known: Sequence[str], span: Span) -> Diagnostic:
    return Diagnostic(
        code="unknown-pass",
        message=f"{name} is not a pass",
        span=span,
        help=_nearest(name, known, f"the passes are {', '.join(known)}"),
    )


def unknown_pass_option(pass_: str, name: str, known: Sequence[str], span: Span) -> Diagnostic:
    return Diagnostic(
        code="pass-option",
        message=f"{pass_}: has no option {name}; it has {', '.join(known) or 'none'}",
        span=span,
        help=_nearest(name, known, f"leave {name} out"),
    )


def missing_pass_option(pass_: str, name: str, span: Span) -> Diagnostic:
    return Diagnostic(
        code="pass-option",
        message=f"{pass_}: option {name} has no default and is missing",
        span=span,
        help=f'write it: {pass_}{{{name}="…"}}',
    )


def pass_option_value(pass_: str, name: str, found: str, expected: str, span: Span) -> Diagnostic:
    return Diagnostic(
        code="pass-option",
        message=f"{pass_}: option {name} is {found}, expected {expected}",
        span=span,
    )


def placement_pattern(found: str) -> Diagnostic:
    return Diagnostic(
        code="placement-pattern",
        message=f"found {found}, expected PATTERN=ROLE",
        help="for instance encoder/layer.1/*=accel",
    )


def pattern_matches_nothing(pattern: str, known: Sequence[str]) -> Diagnostic:
    """``known`` are the names that a pattern may match."""
    plain = pattern.strip("*")
    near = difflib.get_close_matches(plain, known[:2000], n=3, cutoff=0.5)
    listed = f"near it are {', '.join(near)}; " if near else ""
    return Diagnostic(
        code="placement-pattern",
        message=f"no variable or node of the program has a name like {pattern}",
        help=f"{listed}a pattern matches whole names, without % and quotes; "
        "* stands for any characters",
    )


def split_mode(found: str) -> Diagnostic:
    return Diagnostic(
        code="split-mode",
        message=f"found {found}, expected halves, alternate or random:SEED",
    )


def memory_budget(
    role: str, budget: int, needed: int, name: str | None, span: Span | None, *, proven: bool
) -> Diagnostic:
    where = "" if name is None else f" at %{name}"
    how = "the placement" if proven else "every placement that was tried"
    return Diagnostic(
        code="memory-budget",
        message=f"{how} breaks a memory budget: {role} may hold {budget:,} bytes "
        f"and would hold {needed:,}{where}",
        span=span,
        help="raise the budget, or let more devices share the program",
    )


def memory_size(found: str) -> Diagnostic:
    return Diagnostic(
        code="memory-size",
        message=f"found {found}, expected ROLE=SIZE",
        help="for instance accel=64MiB; a size is a number, or one with KiB, MiB or GiB",
    )


def cost_model(name: str, message: str) -> Diagnostic:
    return Diagnostic(
        code="cost-model",
        message=f"{name} is no cost model: {message}",
        help="the guide of placement shows what such a file holds",
    )


def argument_names(function: str, found: Sequence[str], expected: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        code="argument-count",
        message=f"@{function}: found arguments for {', '.join(found) or 'nothing'}, "
        f"expected {', '.join(expected) or 'none'}",
    )


def cannot_make_up(name: str, found: str, span: Span | None, hint: str) -> Diagnostic:
    return Diagnostic(
        code="argument-count",
        message=f"no argument can be made up for %{name}, which is {found}",
        span=span,
        help=hint,
    )
