"""Machine code that comes with the package (``make wheel``), made for any processor with certain features."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from plre.machinecode.baseline import enabled

#: Where a wheel has it; a pure wheel and the sources do not.
FOLDER = Path(__file__).parent / "packed"
#: The file beside machine code that says what it was made from, with and for.
ABOUT = "about.json"


class Packed:
    """The packed machine code in a folder, seen by a process: ``about`` says with and for what it compiles."""

    def __init__(self, about: Mapping[str, Any], folder: Path | None = None) -> None:
        self._about = about
        self._folder = folder or FOLDER

    @cached_property
    def _manifest(self) -> dict[str, Any] | None:
        try:
            manifest = json.loads((self._folder / ABOUT).read_text())
        except (OSError, ValueError):
            return None
        return manifest if isinstance(manifest, dict) else None

    @cached_property
    def misfit(self) -> str | None:
        """Why it cannot be used here, or None if it can."""
        if self._manifest is None:
            return "this installation brings no compiled kernels"
        made_for, here = self._manifest.get("processor", {}), self._about["processor"]
        for name in (key for key in self._about if key != "processor"):
            if self._manifest.get(name) != self._about[name]:
                made, found = self._manifest.get(name), self._about[name]
                return f"the kernels that came with this installation are for {name} {made}, not {found}"
        if made_for.get("system") != here["system"]:
            return f"the kernels that came with this installation are for {made_for.get('system')}"
        if missing := enabled(made_for["features"]) - enabled(here["features"]):
            return f"this processor lacks {', '.join(sorted(missing))}, which the kernels of this installation need"
        return None

    def find(self, name: str) -> Iterator[Path]:
        """The path under which the file of this name would be; none if the machine code does not fit."""
        if self.misfit is None:
            yield self._folder / name
