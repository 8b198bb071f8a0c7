"""The garbage collector rests while kernels are compiled, and only then."""

from __future__ import annotations

import gc

import pytest

from plre._jit import kernel
from plre.machinecode.collector import collector_paused


@pytest.fixture(params=[True, False], ids=["on", "off"])
def enabled(request):
    """The collector as a program has set it before."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_collector_rests_until_the_outermost_pause_ends(enabled):
    with collector_paused:
        with collector_paused:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_collector_is_as_before_after_an_error(enabled):
    with pytest.raises(ZeroDivisionError), collector_paused:
        1 / 0  # noqa: B018
    assert gc.isenabled() == enabled


def test_collector_rests_while_a_kernel_is_compiled(enabled, monkeypatch):
    seen = []
    monkeypatch.setattr("numba.core.compiler.CompilerBase._compile_core", _spy(seen))
    more = 21  # with a value around it, a kernel is not kept, so it is compiled here
    assert kernel(lambda x: x + more)(21) == 42
    assert seen
    assert not any(seen)
    assert gc.isenabled() == enabled


def _spy(seen):
    from numba.core.compiler import CompilerBase

    compile_core = CompilerBase._compile_core

    def spy(self):
        seen.append(gc.isenabled())
        return compile_core(self)

    return spy
