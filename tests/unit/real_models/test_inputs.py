from __future__ import annotations

import numpy as np
import pytest

from benchmarks.real_models.expected import agrees, expectations, summarize
from benchmarks.real_models.inputs import RECIPES, inputs_for, voice
from benchmarks.real_models.lock import models

SHAPES: dict[str, dict[str, tuple[int | None, ...]]] = {
    "voice": {"waveforms": (None, None), "waveforms_lens": (None,)},
    "voice-frames": {"x": (None, 43_844, 1)},
    "voice-window": {"input": (None, None), "state": (2, None, 128), "sr": ()},
    "voice-windows": {"input": (None, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
    "voice-pitch": {"audio": (1, None), "fmin": (), "fmax": ()},
    "voice-long": {"x": (None, 9_000)},
    "spectrum": {"x": (None, 901, 161)},
    "spectrum-rated": {"degraded_audio": (None, 1, None, 257), "rater_embed": (None, 64)},
    "mel": {"x": (None, 900, 120)},
    "mel-triple": {"input": (None, 3, None, 160), "h0": (4, 1, 64)},
    "letters": {"x": (None, None, 28)},
    "phonemes-step": {"a": (None, None, 32), "b": (None, 256), "c": (None, 256)},
    "phonemes-masked": {"x": (None, 32)},
    "rows": {"x": (None, 4)},
    "sentence": {"input_ids": (None, None), "attention_mask": (None, None)},
}


def recipe(text: str) -> str:
    name, _, number = text.rpartition("-")
    return name if number.isdigit() else text


def test_the_lock_file_names_each_model_once_with_a_recipe() -> None:
    listed = models()
    assert len({m.id for m in listed}) == len(listed) >= 50
    assert all(len(m.sha256) == 64 and m.bytes > 0 for m in listed)
    assert {recipe(m.input) for m in listed} == RECIPES.keys() == SHAPES.keys()


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_inputs_fit_what_the_model_declares_and_are_the_same_each_time(name: str) -> None:
    listed = next(m for m in models() if recipe(m.input) == name)
    found, again = (inputs_for(listed, SHAPES[name]) for _ in range(2))
    assert list(found) == list(SHAPES[name])
    for key, declared in SHAPES[name].items():
        array = found[key]
        assert array.ndim == len(declared)
        assert all(d in (None, n) for d, n in zip(declared, array.shape, strict=True))
        assert array.dtype in (np.float32, np.int64)
        assert np.isfinite(array).all()
        np.testing.assert_array_equal(array, again[key])


def test_the_voice_is_in_range_and_not_silent() -> None:
    signal = voice(16_000, 16_000)
    assert 0.4 < np.abs(signal).max() <= 0.5
    assert signal.std() > 0.02


def test_every_model_has_what_onnxruntime_gave() -> None:
    engine, recorded = expectations()
    assert engine.startswith("onnxruntime ")
    assert recorded.keys() == {m.id for m in models()}


def test_a_summary_agrees_with_its_output_alone() -> None:
    output = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    summary = summarize("y", output)
    assert agrees(summary, output + np.float32(1e-5))
    assert not agrees(summary, output + np.float32(1e-2))
    assert not agrees(summary, output.reshape(4, 3))
    assert not agrees(summary, output.astype(np.float64))
    assert not agrees(summary, output[::-1])
