"""``make wheel``: the pure wheel, and one for this system and Python that brings its machine code.

The second has the first one's files and what ``plre warmup`` compiles from them for a baseline processor. No shared
library is in it and nothing is linked: its machine code finds C's and numba's functions by name when it is loaded. So
it runs wherever numba's own wheels do, and the tag says manylinux. Where it does not fit it is a pure wheel.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SYSTEM = "manylinux_2_17_x86_64"

#: Run twice with the wheel's files: first to compile, then to see which of the machine code is called from Python.
WARMUP = """
import json, sys
from plre.cli.console import make_progress
from plre.warmup import warmup
done = warmup(baseline=True, progress=make_progress())
print(json.dumps({"compiled": done.compiled, "folder": str(done.folder), "used": sorted(map(str, done.used))}))
"""


def main() -> None:
    """Build both wheels into a folder."""
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").absolute()
    pure = build_pure(dist)
    print(f"{pure} ({pure.stat().st_size / 1e6:.2f} MB)")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        print("wheels with machine code are made on Linux, x86-64")
        return
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder, "unpacked")
        with zipfile.ZipFile(pure) as archive:
            archive.extractall(unpacked)
        used = compile_all(unpacked, Path(folder, "cache"))
        target = unpacked / "plre" / "machinecode" / "packed"
        target.mkdir()
        for path in [*used, used[0].with_name("about.json")]:
            shutil.copy(path, target)
        size = sum(path.stat().st_size for path in target.iterdir())
        set_tag(unpacked)
        subprocess.run(
            [sys.executable, "-m", "wheel", "pack", str(unpacked), "--dest-dir", str(dist)],
            stdout=subprocess.DEVNULL,
            check=True,
        )
    made = max(dist.glob("*manylinux*.whl"), key=lambda path: path.stat().st_mtime)
    print(f"{made} ({made.stat().st_size / 1e6:.2f} MB; {len(used)} kernels, {size / 1e6:.1f} MB unpacked)")


def build_pure(dist: Path) -> Path:
    """The wheel with sources only."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(dist), str(ROOT)], check=True)
    return max(dist.glob("*-none-any.whl"), key=lambda path: path.stat().st_mtime)


def compile_all(unpacked: Path, cache: Path) -> list[Path]:
    """Compile for the baseline processor; the files that users will need."""
    told = {}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment = clean | {"PYTHONPATH": str(unpacked), "NUMBA_CACHE_DIR": str(cache)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", WARMUP], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        told = json.loads(done.stdout)
    if told["compiled"]:
        sys.exit(f"{told['compiled']} kernels were compiled twice: they cannot be kept")
    used = [Path(path) for path in told["used"]]
    if not used or any(path.parent != used[0].parent for path in used):
        sys.exit("the machine code is not in one folder")
    for name in sorted(kernels(unpacked) - {path.name.rsplit("-", 1)[0] for path in used[0].parent.iterdir()}):
        print(f"note: 'plre warmup' never uses {name}")
    return used


def kernels(unpacked: Path) -> set[str]:
    """The names of all kernels in the sources."""
    package = unpacked / "plre"
    made = re.compile(r"^@(?:\w*kernel|direct|c_kernel)\b.*\n(?:[^\n]*\n){0,3}?def (\w+)", re.MULTILINE)
    return {
        ".".join([*path.relative_to(package).with_suffix("").parts, name])
        for path in package.rglob("_*.py")
        for name in made.findall(path.read_text())
    }


def set_tag(unpacked: Path) -> None:
    """Say for which Python and system the wheel is."""
    (about,) = unpacked.glob("*.dist-info/WHEEL")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    kept = [
        line for line in about.read_text().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))
    ]
    tag = f"Tag: {python}-{python}{getattr(sys, 'abiflags', '')}-{SYSTEM}"
    about.write_text("\n".join([*kept, "Root-Is-Purelib: false", tag]) + "\n")


if __name__ == "__main__":
    main()
