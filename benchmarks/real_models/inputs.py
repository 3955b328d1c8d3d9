"""What each model is fed: made by code, the same on every machine, and of the kind it was made for.

A voice is a train of harmonics with a gliding pitch, three formants, syllables and a little noise;
spectra are computed from it. Random numbers come from a fixed seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.real_models.lock import ModelFile

Array: TypeAlias = npt.NDArray[Any]
Shapes: TypeAlias = Mapping[str, tuple[int | None, ...]]
"""The inputs that the model declares, with the dims that are numbers."""

_FORMANTS: Final = ((730.0, 90.0), (1090.0, 110.0), (2440.0, 170.0))


def voice(rate: int, samples: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Return ``samples`` of a voice-like signal at ``rate`` per second, within -0.5 .. 0.5."""
    time = np.arange(samples) / rate
    pitch = 140 + 25 * np.sin(2 * np.pi * 0.8 * time) + 3 * np.sin(2 * np.pi * 5.5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    signal = np.zeros(samples)
    for harmonic in range(1, 40):
        frequency = harmonic * pitch
        gain = sum(1 / (1 + ((frequency - f) / b) ** 2) for f, b in _FORMANTS)
        audible = frequency < 0.45 * rate
        signal += audible * (gain + 0.02) / harmonic**0.5 * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 3 * time) + 0.4, 0, 1)
    noise = np.random.default_rng(seed).standard_normal(samples)
    signal = syllables * signal / np.abs(signal).max() + 0.004 * noise
    return np.asarray(0.5 * signal / np.abs(signal).max(), np.float32)


def log_spectrum(frames: int, bins: int) -> npt.NDArray[np.float32]:
    """Return the log power spectrum of a voice at 16 kHz: ``[frames, bins]``."""
    size = 2 * (bins - 1)
    hop = size // 2
    signal = voice(16_000, hop * (frames - 1) + size)
    windows = np.stack([signal[i * hop : i * hop + size] for i in range(frames)])
    power = np.abs(np.fft.rfft(windows * np.hanning(size), axis=1)) ** 2
    return np.asarray(np.log10(np.maximum(power, 1e-12)), np.float32)


def log_mel(frames: int, bands: int) -> npt.NDArray[np.float32]:
    """Return ``[frames, bands]`` of the log power spectrum, wider towards the top, in 0 .. 1."""
    spectrum = log_spectrum(frames, 321)
    edges = np.round(np.geomspace(2, 320, bands + 1) - 1).astype(int)
    pairs = itertools.pairwise(edges)
    columns = [spectrum[:, a : max(b, a + 1)].mean(1) for a, b in pairs]
    mel = np.stack(columns, axis=1)
    return np.asarray((mel - mel.min()) / (mel.max() - mel.min()), np.float32)


def _waveform(shapes: Shapes, rate: int) -> dict[str, Array]:
    samples = rate // 2
    return {
        "waveforms": voice(rate, samples)[None],
        "waveforms_lens": np.array([samples], np.int64),
    }


def _frames(shapes: Shapes, rate: int) -> dict[str, Array]:
    ((name, shape),) = shapes.items()
    return {name: voice(rate, shape[1] or rate)[None, :, None]}


def _window(shapes: Shapes, _: int) -> dict[str, Array]:
    known: dict[str, Array] = {
        "input": voice(16_000, 4 * 576)[None, 1_152:1_728],
        "state": np.zeros((2, 1, 128), np.float32),
        "sr": np.array(16_000, np.int64),
    }
    return {name: known[name] for name in shapes}


def _windows(shapes: Shapes, _: int) -> dict[str, Array]:
    count = 12
    signal = voice(16_000, 64 + 512 * count)
    windows = np.stack([signal[512 * i : 512 * i + 576] for i in range(count)])
    return {"input": windows, **{name: np.zeros((1, 1, 128), np.float32) for name in ("h", "c")}}


def _pitch(shapes: Shapes, _: int) -> dict[str, Array]:
    return {
        "audio": voice(16_000, 16_000)[None],
        "fmin": np.array(46.875, np.float32),
        "fmax": np.array(2_093.75, np.float32),
    }


def _long(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, shape),) = shapes.items()
    return {name: voice(16_000, shape[1] or 16_000)[None]}


def _spectrum(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, shape),) = shapes.items()
    return {name: log_spectrum(shape[1] or 90, shape[2] or 161)[None]}


def _spectrum_rated(shapes: Shapes, _: int) -> dict[str, Array]:
    rater = np.random.default_rng(7).standard_normal((1, 64)).astype(np.float32)
    return {"degraded_audio": log_spectrum(90, 257)[None, None], "rater_embed": rater}


def _mel(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, shape),) = shapes.items()
    return {name: log_mel(shape[1] or 90, shape[2] or 120)[None]}


def _mel_triple(shapes: Shapes, _: int) -> dict[str, Array]:
    """Loudspeaker, microphone and enhanced signal, alike but for loudness."""
    mel = log_mel(90, 160)
    hidden = tuple(d or 1 for d in shapes["h0"])
    return {
        "input": np.stack([mel, 0.9 * mel, 0.7 * mel])[None].astype(np.float32),
        "h0": np.zeros(hidden, np.float32),
    }


def _one_hot(symbols: list[int], kinds: int, length: int) -> npt.NDArray[np.float32]:
    table = np.zeros((1, length, kinds), np.float32)
    table[0, np.arange(len(symbols)), symbols] = 1
    return table


def _letters(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, _shape),) = shapes.items()
    return {name: _one_hot([4, 7, 13, 7, 20, 12, 3], 28, 24)}


def _phonemes_step(shapes: Shapes, _: int) -> dict[str, Array]:
    step, *states = shapes
    random = np.random.default_rng(3)
    hidden = {n: np.tanh(random.standard_normal((1, 256))).astype(np.float32) for n in states}
    return {step: _one_hot([1], 32, 1), **hidden}


def _phonemes_masked(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, _shape),) = shapes.items()
    word = [5, 9, 14, 3, 21, 14, 8]
    return {name: np.array([word + [0] * (32 - len(word))], np.int64)}


def _rows(shapes: Shapes, _: int) -> dict[str, Array]:
    ((name, shape),) = shapes.items()
    values = np.random.default_rng(11).uniform(0, 5, (16, shape[1] or 4))
    return {name: values.astype(np.float32)}


_SENTENCE: Final = (101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 2379, 1996, 2214)
"""WordPiece ids: "the quick brown fox jumps over the lazy dog near the old river bank." """

_SENTENCE_END: Final = (2314, 2924, 1012, 102)


def _sentence(shapes: Shapes, _: int) -> dict[str, Array]:
    ids = np.array([_SENTENCE + _SENTENCE_END], np.int64)
    known = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return {name: known.get(name, np.zeros_like(ids)) for name in shapes}


RECIPES: Final[Mapping[str, Callable[[Shapes, int], dict[str, Array]]]] = {
    "voice": _waveform,
    "voice-frames": _frames,
    "voice-window": _window,
    "voice-windows": _windows,
    "voice-pitch": _pitch,
    "voice-long": _long,
    "spectrum": _spectrum,
    "spectrum-rated": _spectrum_rated,
    "mel": _mel,
    "mel-triple": _mel_triple,
    "letters": _letters,
    "phonemes-step": _phonemes_step,
    "phonemes-masked": _phonemes_masked,
    "rows": _rows,
    "sentence": _sentence,
}


def inputs_for(model: ModelFile, shapes: Shapes) -> dict[str, Array]:
    """Return the arrays for a model's inputs, by name, in the order that it declares them.

    ``shapes`` says what the model declares: ``None`` for a dim that is open.
    """
    name, dash, number = model.input.rpartition("-")
    if dash and number.isdigit():
        found = RECIPES[name](shapes, int(number))
    else:
        found = RECIPES[model.input](shapes, 0)
    return {name: found[name] for name in shapes}


__all__ = ["RECIPES", "Shapes", "inputs_for", "log_mel", "log_spectrum", "voice"]
