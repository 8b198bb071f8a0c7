"""The memory that a process may use, from files as Linux writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plre.memory_limit import usable_memory
from plre.scratch import scratch_within

MACHINE = usable_memory("/nowhere")


def system(root: Path, groups: str, limits: dict[str, str]) -> str:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, limit in limits.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    return str(root)


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "300000000"}, 300_000_000),
        ("0::/\n", {"memory.max": "max"}, MACHINE),
        ("0::/job/step\n", {"job/step/memory.max": "max", "job/memory.max": "200000000"}, 200_000_000),
        ("0::/outside\n", {"memory.max": "100000000"}, 100_000_000),
        ("5:cpu:/\n4:memory:/job\n0::/\n", {"memory/job/memory.limit_in_bytes": "400000000"}, 400_000_000),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, MACHINE),
        ("", {}, MACHINE),
    ],
)
def test_limits_of_containers(tmp_path: Path, groups: str, limits: dict[str, str], expected: int) -> None:
    assert usable_memory(system(tmp_path, groups, limits)) == expected


def test_the_default_is_four_fifths_of_what_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plre.scratch.usable_memory", lambda: 1_000_000_000)
    assert scratch_within(None, None).memory == 266_666_666
