"""The baseline processor: machine code for it runs on nearly every x86-64 processor since 2015, not on one only."""

from __future__ import annotations

from collections.abc import Mapping

NAME = "x86-64-v3"

#: What x86-64-v3 has, under LLVM's names.
FEATURES = (
    "64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt", "mmx",
    "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave",
)  # fmt: skip

_LIST = ",".join(f"+{feature}" for feature in FEATURES)


def enabled(features: str) -> set[str]:
    """The features that a list in LLVM's notation switches on.

    >>> sorted(enabled("+avx,+avx2,-avx512f"))
    ['avx', 'avx2']
    """
    return {feature[1:] for feature in features.split(",") if feature.startswith("+")}


def baseline_of(processor: Mapping[str, str]) -> dict[str, str] | None:
    """The baseline processor of the same system; None if what it can do is more than this one can."""
    fits = processor["system"].startswith("x86_64") and enabled(_LIST) <= enabled(processor["features"])
    return {"system": processor["system"], "name": NAME, "features": _LIST} if fits else None


def compiling_for_baseline() -> dict[str, str]:
    """The variables that make numba compile for the baseline processor."""
    return {"NUMBA_CPU_NAME": NAME, "NUMBA_CPU_FEATURES": _LIST}
