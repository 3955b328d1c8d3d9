"""Arguments that are views of other arrays: their elements arrive, whatever lies between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm import compiler
from reference_vm.session import Session
from reference_vm.text import parse

BASE = np.arange(48, dtype=np.float32).reshape(6, 8)
VIEWS = {
    "gaps": BASE[::2, ::2],
    "backwards": BASE[2::-1, 3::-1],
    "offset": BASE[3:, 4:],
    "turned": BASE[:4, :3].T,
    "repeated": np.broadcast_to(BASE[0, :4], (3, 4)),
    "column": BASE[:3, 5:6],
    "empty": BASE[:0, ::3],
    "field": np.array(list(zip(BASE[0], BASE[1], strict=True)), "f4,f4")["f1"].reshape(2, 4),
}
ROLES = (("host", "accel"), ("accel", "host"), ("accel", "other"))


@pytest.mark.parametrize(("made", "read"), ROLES, ids=["-".join(pair) for pair in ROLES])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_every_view_arrives_whole(view: Any, made: str, read: str) -> None:
    module = parse(
        f"""module {{
          vdevice @host, @accel, @other
          fn @main(%a: f32[m, n] @{made}) -> (f32[m, n] @{read}, f32[n, m] @{read}) {{
            %b = permute_dims(%a, axes = [1, 0]) @{made}
            %c = negative(%a) @{read}
            %out = (%c, %b)
            return %out
          }}
        }}""",
        "layouts",
    )
    session = Session(compiler.compile(module, "host=cpu:0,accel=sim:0,other=sim:1"))
    before = BASE.copy()

    negated, turned = session.run("main", view)

    np.testing.assert_array_equal(negated, -np.ascontiguousarray(view))
    np.testing.assert_array_equal(turned, np.ascontiguousarray(view).T)
    np.testing.assert_array_equal(BASE, before)
