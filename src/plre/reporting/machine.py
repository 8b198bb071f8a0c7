"""The machine on which something was measured."""

from __future__ import annotations

import platform
from pathlib import Path

from plre.memory_limit import usable_memory
from plre.threads import cpu_count


def describe_machine() -> str:
    """The machine in a line, since times depend on it."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    memory = usable_memory() / 2**30
    return f"{model}, {cpu_count()} cores, {memory:.0f} GB, {platform.system()}, Python {platform.python_version()}"
