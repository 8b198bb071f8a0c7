"""Files that were damaged, or made on purpose to be wrong: a model answers or raises a PlreError, whatever it is given.

Each file follows from a number, its seed: which model is damaged, how, and where. It is loaded and asked everything in
a process of its own (``python -m tests.model.test_hostile``), which goes on with the next file; when it dies or takes
too long, that file is to blame, and a new process goes on after it. Some files are asked as they are mapped, the others
from copies of their arrays that begin or end at memory that nobody may touch; so does all memory that answers and work
spaces lie in. ``benchmarks/hostile.py`` tries a hundred thousand files.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import plre
from plre import tensorfile as file
from plre.evaluation.describe import describe_model
from plre.model import lm, plan, scoring, steps, storage
from plre.model.compact import CompactNgrams
from plre.model.lm import LanguageModel
from plre.tables import building as t
from plre.tables.packing import PADDING, bits_of, pack, pack_records, packed_bytes, unpack
from plre.text import vocabulary
from plre.text.vocabulary import Vocabulary
from tests.conftest import zipf_text
from tests.interop.arpa_files import make_arpa

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, memory is guarded with mprotect")
#: Files that the test tries, which takes some 20 seconds.
FILES = 1_500

# --- models to begin with --------------------------------------------------------------------------------------------


def make_models(folder: Path) -> None:
    """Train a small model of each kind into a folder; any other model file may be put there, too."""
    text, other = zipf_text(60, words=60), zipf_text(40, words=400, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plre.PlreWarning)
        made = {
            "mkn": plre.train(text, order=3, method="mkn"),
            "paper": plre.train(text, order=4, rungs=["2:0.5:4", "3:0.5:2", "4:0.5:2"]),
            "class": plre.train(text, order=3, method="class", classes=8),
            "best": plre.train(text, order=3, preset="best", classes=[6, 12], contexts=["2:1,w:1,1:2", "w:1,w:2"]),
            "stream": plre.train(text, order=2, method="kn", markers=False),
            "compact": plre.train(text, order=4, rungs=["2:0.5:4", "3:0.5:2", "4:0.5:2"], quantise=8),
            "compact best": plre.train(text, order=3, preset="best", classes=[6], contexts=["1:1,w:1"], quantise=16),
        }
        wide = plre.train(other, order=2, method="mkn", min_count=1)
        (folder / "words.arpa").write_text(make_arpa(1, 3, closed=False, words=30).text)
        made["arpa"] = plre.import_arpa(folder / "words.arpa")
        (folder / "words.arpa").unlink()
        made["mixture"] = plre.mix([wide, made["mkn"], made["class"]], weights=[0.5, 0.2, 0.3])
    for name, model in made.items():
        model.save(folder / f"{name}.plre")


@dataclass(frozen=True)
class Sound:
    """A model as it was before anything was done to it: its file, and words and lines to ask for."""

    name: str
    data: bytes
    text: str
    tensors: dict[str, NDArray[Any]]
    words: list[str]
    lines: list[str]

    @classmethod
    def read(cls, path: Path) -> Sound:
        """Read a model file; its own samples are the lines to ask for."""
        model = plre.load(path)
        raw, tensors = file.read(str(path))
        lines = [
            *model.samples(6, max_words=8, seed=1),
            "",
            "w1 zzz \u00e4\u00f6\u00fc w2 w" + "3" * 300,
            "w1 w2 w3 " * 99,
        ]
        words = [word for word in dict.fromkeys(" ".join(lines).split()) if word in model.vocab][:8]
        return cls(path.stem, path.read_bytes(), raw["plre"], tensors, words, lines)

    @cached_property
    def start(self) -> int:
        """Where the data begins."""
        return 8 + int.from_bytes(self.data[:8], "little")


# --- damage ----------------------------------------------------------------------------------------------------------

DEEP = "@deep@"


@dataclass
class Draft:
    """A model file that is being made: metadata, tensors, and what is done to the finished header and bytes."""

    sound: Sound
    random: random.Random
    metadata: Any = field(init=False)
    tensors: dict[str, NDArray[Any]] = field(init=False)
    #: What stands for DEEP in the metadata.
    deep: str = "[]"
    header_changes: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.metadata, self.tensors = json.loads(self.sound.text), dict(self.sound.tensors)

    def own(self, name: str) -> NDArray[Any]:
        """A tensor to be written to."""
        self.tensors[name] = self.tensors[name].copy()
        return self.tensors[name]

    def some(self, count: int) -> NDArray[np.int64]:
        """A few of so many places, often just one."""
        few = min(count, self.random.choice([1, 1, 2, 8, count]))
        return np.array(self.random.sample(range(count), few), np.int64)

    def build(self) -> bytes:
        """The bytes of the file."""
        tensors = file.in_order(self.tensors)
        text = json.dumps(self.metadata, ensure_ascii=True, separators=(",", ":")).replace(f'"{DEEP}"', self.deep)
        entries: dict[str, Any] = {"__metadata__": {"plre": text}}
        at = 0
        for name, tensor in tensors.items():
            place = [at, at + tensor.nbytes]
            entries[name] = {"dtype": file._NAMES[tensor.dtype], "shape": [len(tensor)], "data_offsets": place}
            at += tensor.nbytes
        for change in self.header_changes:
            change(entries)
        head = json.dumps(entries, separators=(",", ":")).replace(f'"{DEEP}"', self.deep).encode()
        head += b" " * (-(8 + len(head)) % 64)
        return b"".join([len(head).to_bytes(8, "little"), head, *(tensor.tobytes() for tensor in tensors.values())])


class NothingToDamageError(Exception):
    """This model does not have what is to be damaged."""


@dataclass(frozen=True)
class Kind:
    """A kind of damage. What is ``structural`` must be found by ``verify``; if ``signed``, with a right checksum."""

    name: str
    apply: Callable[[Draft], bytes | None]
    structural: bool
    signed: bool


KINDS: dict[str, Kind] = {}
#: How often each group of kinds is drawn.
SHARES = {"bytes": 4, "any": 4, "table": 6, "numbers": 3, "vocab": 3, "header": 3, "made": 3}


def kind(name: str, *, structural: bool = False, signed: bool = True) -> Any:
    """Make a function a kind of damage: it changes a draft, or returns the bytes of a file."""

    def register(function: Callable[[Draft], bytes | None]) -> Callable[[Draft], bytes | None]:
        KINDS[name] = Kind(name, function, structural, signed)
        return function

    return register


# Random bytes: the checksum finds them.


@kind("bytes: changed", structural=True, signed=False)
def change_bytes(d: Draft) -> bytes:
    data = bytearray(d.sound.data)
    for _ in range(d.random.choice([1, 1, 2, 8, 64, 1024])):
        at = d.random.randrange(d.sound.start, len(data))
        data[at] ^= d.random.randrange(1, 256)
    return _different(d, data)


@kind("bytes: a block", structural=True, signed=False)
def change_block(d: Draft) -> bytes:
    data = bytearray(d.sound.data)
    size = d.random.choice([4, 8, 64, 512, 4096])
    at = d.random.randrange(d.sound.start, len(data))
    size = min(size, len(data) - at)
    other = d.random.randrange(d.sound.start, len(data) - size + 1)
    data[at : at + size] = d.random.choice(
        [bytes(size), b"\xff" * size, b"\x7f" * size, d.random.randbytes(size), bytes(data[other : other + size])]
    )
    return _different(d, data)


def _different(d: Draft, data: bytearray) -> bytes:
    if data == d.sound.data:
        data[-1] ^= 1
    return bytes(data)


@kind("bytes: of the header", signed=False)
def change_header_bytes(d: Draft) -> bytes:
    data = bytearray(d.sound.data)
    for _ in range(d.random.choice([1, 1, 2, 8])):
        data[d.random.randrange(d.sound.start)] = d.random.choice([*b'"[]{}:,0123456789-.eE \\\0\xff', *range(256)])
    return bytes(data)


@kind("bytes: cut off or too many", signed=False)
def cut_off(d: Draft) -> bytes:
    data = d.sound.data
    return d.random.choice([data[: d.random.randrange(len(data))], data + bytes(d.random.choice([1, 64, 4096]))])


# Whatever a model has: tensors full of what they should not hold.


def _extremes(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e38, -1e-38, 2.0]
    limits = np.iinfo(dtype)
    return [limits.max, limits.max - 1, limits.min, limits.min + 1, 0, 1, limits.max // 2]


@kind("any: extremes")
def put_extremes(d: Draft) -> None:
    name = d.random.choice([name for name, tensor in d.tensors.items() if len(tensor)])
    tensor = d.own(name)
    tensor[d.some(len(tensor))] = d.random.choice(_extremes(tensor.dtype))


@kind("any: random bits")
def put_random_bits(d: Draft) -> None:
    name = d.random.choice([name for name, tensor in d.tensors.items() if len(tensor)])
    tensor = d.own(name).view(np.uint8)
    at, stop = sorted(d.random.choices(range(len(tensor) + 1), k=2)) if d.random.random() < 0.5 else (0, len(tensor))
    tensor[at:stop] = np.frombuffer(d.random.randbytes(stop - at), np.uint8)


@kind("any: moved")
def move_entries(d: Draft) -> None:
    name = d.random.choice(list(d.tensors))
    tensor = d.own(name)
    change = d.random.choice(["roll", "reverse", "shuffle", "sort"])
    if change == "roll":
        tensor[:] = np.roll(tensor, d.random.choice([1, -1, 16, len(tensor) // 2]))
    elif change == "reverse":
        tensor[:] = tensor[::-1].copy()
    elif change == "shuffle":
        tensor[:] = tensor[np.random.default_rng(d.random.getrandbits(32)).permutation(len(tensor))]
    else:
        tensor.sort()


@kind("any: exchanged")
def exchange_tensors(d: Draft) -> None:
    same: dict[Any, list[str]] = {}
    for name, tensor in d.tensors.items():
        same.setdefault((tensor.dtype, len(tensor)), []).append(name)
    groups = [names for names in same.values() if len(names) > 1]
    if not groups:
        raise NothingToDamageError
    a, b = d.random.sample(d.random.choice(groups), 2)
    d.tensors[a], d.tensors[b] = d.tensors[b], d.tensors[a]


# Tables: lists, runs, lines, seeds, pointers.


@dataclass(frozen=True)
class Table:
    """A table of a draft, with the numbers of its list and its runs."""

    name: str
    symbols: int
    records: int
    owners: int

    @property
    def list_bits(self) -> int:
        return bits_of(self.symbols - 1)

    @property
    def run_bits(self) -> int:
        return bits_of(self.records)


def _tables(d: Draft, least: int = 2) -> list[Table]:
    """The tables of n-grams and contexts that have some records."""
    found = []
    for name in d.tensors:
        number, _, rest = name.removesuffix(".runs").partition(".")
        if not name.endswith(".runs"):
            continue
        body = d.metadata["components"][int(number) - 1]["body"]
        if body["kind"] not in ("ngrams", "contexts"):
            continue
        level = int(rest.split(".")[0].removeprefix("level").removeprefix("order"))
        if body["kind"] == "ngrams":
            symbols, records = body["sizes"][0], body["sizes"][level - 1]
            slot, above = 4 if body["missing"] else 3, f"{number}.order{level - 1}"
            owners = symbols + 1
        else:
            events = rest.endswith(".events")
            symbols, records, slot, owners = body["symbols"], body["sizes"][level - 1][events], 2, 1
            which, above = body["chain"][level - 1][0], f"{number}.level{level - (not events)}.contexts"
            symbols = symbols if events or which < 0 else body["counts"][which]
        if f"{above}.lines" in d.tensors:
            owners = len(d.tensors[f"{above}.lines"]) // 16 * (16 // slot)
        if records >= least:
            found.append(Table(f"{number}.{rest}", symbols, records, owners))
    return found


def _table(d: Draft, least: int = 2) -> Table:
    tables = _tables(d, least)
    if not tables:
        raise NothingToDamageError
    return d.random.choice(tables)


def _numbers(d: Draft, name: str, count: int, bits: int) -> NDArray[np.int64]:
    return unpack(d.tensors[name], count, bits)


def _put(d: Draft, name: str, count: int, bits: int, at: NDArray[np.int64], values: Any) -> None:
    """Write numbers into a packed tensor."""
    numbers = _numbers(d, name, count, bits)
    numbers[at] = values
    d.tensors[name] = pack(numbers & ((1 << bits) - 1), bits)


@kind("table: listed symbols out of range", structural=True)
def put_symbols_out_of_range(d: Draft) -> None:
    table = _table(d)
    most = 2**table.list_bits - 1
    if table.symbols > most:
        raise NothingToDamageError
    value = d.random.choice([table.symbols, most, d.random.randint(table.symbols, most)])
    _put(d, f"{table.name}.symbols", table.records, table.list_bits, d.some(table.records), value)


@kind("table: other listed symbols", structural=True)
def put_other_symbols(d: Draft) -> None:
    table = _table(d)
    name, at = f"{table.name}.symbols", d.some(table.records)
    if table.symbols < 2:
        raise NothingToDamageError
    old = _numbers(d, name, table.records, table.list_bits)[at]
    _put(d, name, table.records, table.list_bits, at, (old + d.random.randrange(1, table.symbols)) % table.symbols)


@kind("table: runs", structural=True)
def change_runs(d: Draft) -> None:
    table = _table(d)
    name, most = f"{table.name}.runs", 2**table.run_bits - 1
    numbers = _numbers(d, name, table.owners, table.run_bits)
    owners = np.flatnonzero(numbers < table.records)
    at = owners[d.some(len(owners))]
    how = d.random.choice(["out", "none", "far", "next", "other"])
    values = {"out": table.records, "none": most, "far": max(most - 1, table.records), "next": numbers[at] + 1}
    other = (numbers[at] + d.random.randrange(1, table.records)) % table.records
    _put(d, name, table.owners, table.run_bits, at, values.get(how, other))


@kind("table: runs of nobody")
def put_runs_of_nobody(d: Draft) -> None:
    table = _table(d)
    name = f"{table.name}.runs"
    free = np.flatnonzero(_numbers(d, name, table.owners, table.run_bits) >= table.records)
    if not len(free):
        raise NothingToDamageError
    _put(d, name, table.owners, table.run_bits, free[d.some(len(free))], d.random.randrange(table.records))


@kind("table: ends", structural=True)
def change_ends(d: Draft) -> None:
    table = _table(d)
    name = f"{table.name}.ends"
    bits = np.unpackbits(d.tensors[name].view(np.uint8), bitorder="little")
    old = bits.copy()
    how = d.random.choice(["clear", "set", "turn"])
    if how == "turn":
        bits[d.some(table.records)] ^= 1
    else:
        bits[: table.records] = how == "set"
    if np.array_equal(bits[: table.records], old[: table.records]):
        bits[d.random.randrange(table.records)] ^= 1
    d.tensors[name] = np.packbits(bits, bitorder="little").view(np.uint64)


@kind("table: seeds", structural=True)
def change_seeds(d: Draft) -> None:
    name = f"{_table(d, 30).name}.seeds"
    seeds = np.frombuffer(d.random.randbytes(len(d.tensors[name])), np.uint8)
    d.tensors[name] = d.random.choice([seeds, np.zeros_like(seeds), ~d.tensors[name]])


@kind("table: lines", structural=True)
def change_lines(d: Draft) -> None:
    name = f"{_table(d, 8).name}.lines"
    lines = np.frombuffer(d.random.randbytes(d.tensors[name].nbytes), np.int32)
    d.tensors[name] = d.random.choice([lines, np.zeros_like(lines), np.full_like(lines, -1)])


@kind("table: a slot")
def change_slot(d: Draft) -> None:
    lines = d.own(f"{_table(d).name}.lines")
    at = d.some(len(lines))
    lines[at] = np.frombuffer(d.random.randbytes(4 * len(at)), np.int32)


@kind("table: numbers of lines", structural=True)
def change_numbers_of_lines(d: Draft) -> None:
    """Put no numbers into all slots: lines are checks and numbers in turns, and 2 to 4 make a slot."""
    lines = d.own(f"{_table(d).name}.lines").view(np.float32)
    lines.reshape(-1, 16)[:, 1:] = d.random.choice([np.nan, np.inf, -np.inf, -1.0])


@kind("table: low rank layers", structural=True)
def change_low_rank(d: Draft) -> None:
    found = [name for name in d.tensors if name.endswith((".ranks", ".pointers")) and d.tensors[name].any()]
    if not found:
        raise NothingToDamageError
    name = d.random.choice(found)
    tensor = d.own(name)
    at = np.flatnonzero(tensor)
    at = at[d.some(len(at))]
    count = len(d.tensors[name.rpartition(".")[0] + ".factors"])
    huge = [2**31 - 1, count + 1, count * 2 + 7, 2**30]
    tensor[at] = d.random.choice([*huge, *([2**32 - 1, 2**31] if tensor.dtype == np.uint32 else [-1, -(2**31)])])


@kind("table: other low rank layers")
def change_low_rank_a_little(d: Draft) -> None:
    found = [name for name in d.tensors if name.endswith((".ranks", ".pointers")) and d.tensors[name].any()]
    if not found:
        raise NothingToDamageError
    tensor = d.own(d.random.choice(found))
    at = d.some(len(tensor))
    tensor[at] = d.random.randrange(int(tensor.max()) + 2)


def _compact(d: Draft) -> tuple[str, CompactNgrams]:
    """A component of compact n-grams, and what the names of its tensors begin with."""
    own = {
        k: about["body"] for k, about in enumerate(d.metadata["components"], 1) if about["body"]["kind"] == "compact"
    }
    own = {k: body for k, body in own.items() if len(body["sizes"]) > 1}
    if not own:
        raise NothingToDamageError
    number = d.random.choice(list(own))
    tensors = {name.partition(".")[2]: x for name, x in d.tensors.items() if name.startswith(f"{number}.")}
    tensors = {name: x for name, x in tensors.items() if name not in ("symbols", "shares", "gates")}
    return f"{number}.", CompactNgrams.from_tensors(own[number], tensors)


@kind("table: compact runs", structural=True)
def change_compact_runs(d: Draft) -> None:
    name, body = _compact(d)
    records = body.sizes[1]
    bits, count = bits_of(records), body.symbols + 2
    at = d.some(body.symbols + 1)
    old = _numbers(d, f"{name}order2.runs", count, bits)[at]
    most = 2**bits - 1
    values = np.full(len(old), d.random.choice([0, most, records + 1, d.random.randint(0, most)]))
    _put(d, f"{name}order2.runs", count, bits, at, np.where(values == old, np.minimum(old + 1, most), values))


@kind("table: compact records")
def change_compact_records(d: Draft) -> None:
    """Change the symbols, the numbers, or where longer n-grams start, of some records or all."""
    name, body = _compact(d)
    n = d.random.randint(2, body.order)
    widths, count = body.widths(n), body.sizes[n - 1] + (n < body.order)
    fields = [
        unpack(d.tensors[f"{name}order{n}.records"], count, bits, sum(widths[:k]), sum(widths))
        for k, bits in enumerate(widths)
    ]
    at = d.some(count)
    for k in d.random.choice([[0], [1], [len(widths) - 1], list(range(len(widths)))]):
        most = 2 ** widths[k] - 1
        fields[k][at] = d.random.choice([0, most, np.array([d.random.randint(0, most) for _ in at])])
    d.tensors[f"{name}order{n}.records"] = pack_records(list(zip(fields, widths, strict=True)), count)


# Numbers and maps.


@kind("numbers: none", structural=True)
def put_no_numbers(d: Draft) -> None:
    suffixes = (".unigrams", ".weights", ".gates", ".shares", ".factors")
    found = [name for name, x in d.tensors.items() if name.endswith(suffixes) and len(x) and x.dtype == np.float32]
    if not found:
        raise NothingToDamageError
    tensor = d.own(d.random.choice(found))
    tensor[d.some(len(tensor))] = d.random.choice([np.nan, np.inf, -np.inf, -1.0])


@kind("numbers: huge")
def put_huge_numbers(d: Draft) -> None:
    found = [name for name, tensor in d.tensors.items() if tensor.dtype == np.float32 and len(tensor)]
    tensor = d.own(d.random.choice(found))
    tensor[d.some(len(tensor))] = d.random.choice([3e38, 1e30, 2.0, 1e-45, 0.0])


@kind("numbers: maps out of range", structural=True)
def put_maps_out_of_range(d: Draft) -> None:
    names = [name for name in d.tensors if name.count(".") == 1]
    names = [name for name in names if name.endswith(".symbols") or name.partition(".")[2].startswith("map")]
    if not names:
        raise NothingToDamageError
    tensor = d.own(d.random.choice(names))
    value = d.random.choice([-1, -(2**31), 2**31 - 1, int(tensor.max()) + 1, int(tensor.max()) + 1000])
    tensor[d.some(len(tensor))] = value


@kind("numbers: other maps")
def put_other_maps(d: Draft) -> None:
    names = [name for name in d.tensors if name.count(".") == 1 and d.tensors[name].dtype == np.int32]
    tensor = d.own(d.random.choice(names))
    tensor[d.some(len(tensor))] = d.random.randint(0, int(tensor.max()))


# The vocabulary.


@kind("vocab: filled slots", structural=True)
def fill_slots(d: Draft) -> None:
    slots = d.own("vocab.slots")
    words = len(d.tensors["vocab.starts"]) - 1
    free = slots[1::2] < 0
    slots[1::2][free] = d.random.choice([0, words - 1, words, 2**31 - 1, d.random.randrange(words)])
    if d.random.random() < 0.5:
        slots[::2] = d.random.randrange(-(2**31), 2**31)


@kind("vocab: ids", structural=True)
def change_ids(d: Draft) -> None:
    ids = d.own("vocab.slots")[1::2]
    words = len(d.tensors["vocab.starts"]) - 1
    used = np.flatnonzero(ids >= 0)
    at = used[d.some(len(used))]
    other = (ids[at] + d.random.randrange(1, words)) % words
    far = [words, words + 1, 2**31 - 1, d.random.randrange(words, 2**31), -2, -(2**31)]
    ids[at] = d.random.choice([*far, other])


@kind("vocab: tags", structural=True)
def change_tags(d: Draft) -> None:
    slots = d.own("vocab.slots")
    used = np.flatnonzero(slots[1::2] > 0)  # <unk> is found, too, by not being found
    slots[::2][used[d.some(len(used))]] ^= d.random.randrange(1, 2**31)


@kind("vocab: starts", structural=True)
def change_starts(d: Draft) -> None:
    starts = d.own("vocab.starts")
    at = 1 + d.some(len(starts) - 2)
    old = starts[at].copy()
    letters = len(d.tensors["vocab.bytes"])
    values = [0, letters, letters + 1, -1, 2**31 - 1, -(2**31), d.random.randrange(-(2**31), 2**31)]
    starts[at] = d.random.choice(values)
    if np.array_equal(starts[at], old):
        starts[at] += 1


@kind("vocab: letters", structural=True)
def change_letters(d: Draft) -> None:
    letters = d.own("vocab.bytes")[len("<unk>") :]
    letters[d.some(len(letters))] ^= d.random.choice([1, 0x80, 0xFF, 0x20])


# The header.


def _odd_value(d: Draft) -> Any:
    """Something that a header should not say."""
    d.deep = d.random.choice(
        [("[" * n + "]" * n) for n in (50, 400, 900, 5_000, 50_000)] + ['{"a":' * 900 + "1" + "}" * 900]
    )
    numbers = [0, 1, -1, 2, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**4299]
    others = [0.5, 3.0, 1e308, float("nan"), float("inf"), -0.0, True, False, None, "", "5", "\ud800", "x" * 5_000]
    inner = [[], {}, [[]], [1], [0, 0], [-1, 5], [0] * 2_000, {"a": 1}, [None], ["a", "b"], [["format", 5]], DEEP, DEEP]
    return d.random.choice(d.random.choice([numbers, others, inner]))


def _change_one(d: Draft, tree: Any) -> None:
    """Change, remove or add one thing anywhere in a tree of lists and dicts."""
    nodes: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            nodes.append((node, key))
            if isinstance(node[key], dict | list):
                visit(node[key])

    visit(tree)
    node, key = d.random.choice(nodes)
    how = d.random.random()
    if how < 0.1:
        del node[key]
    elif how < 0.15 and isinstance(node, list):
        node.append(node[key])
    elif how < 0.25 and type(node[key]) is int:
        node[key] += d.random.choice([1, -1, 8, -8, 64, 4096])
    else:
        odd = _odd_value(d)
        node[key] = odd if odd != node[key] else [odd]


@kind("header: entries", signed=False)
def change_entries(d: Draft) -> None:
    d.header_changes.append(lambda entries: _change_one(d, entries))


@kind("header: metadata", structural=True, signed=False)
def change_metadata(d: Draft) -> None:
    before = json.dumps(d.metadata)
    _change_one(d, d.metadata)
    if json.dumps(d.metadata) == before:
        d.metadata["tokens"] = "other"


@kind("header: metadata, signed")
def change_metadata_and_sign(d: Draft) -> None:
    for _ in range(d.random.choice([1, 1, 2, 3])):
        if isinstance(d.metadata, dict) and d.metadata:
            _change_one(d, d.metadata)


@kind("header: metadata of another kind", signed=False)
def change_all_metadata(d: Draft) -> None:
    d.metadata = d.random.choice([[["format", 5]], [], 5, "x", None, {}, {"format": 5}, list(d.metadata.items()), DEEP])


# Files that someone took trouble with: everything fits together but for one thing.


@kind("made: other sizes")
def change_size(d: Draft) -> None:
    name = d.random.choice(list(d.tensors))
    tensor = d.tensors[name]
    step = 16 if name.endswith(".lines") else d.random.choice([1, 1, 2, 3, 8, 16])
    more = np.concatenate([tensor, np.resize(tensor, step) if len(tensor) else np.zeros(step, tensor.dtype)])
    d.tensors[name] = d.random.choice([tensor[:-step], tensor[:step], tensor[:0], more, np.tile(tensor, 3)])


@kind("made: other types")
def change_type(d: Draft) -> None:
    name = d.random.choice(list(d.tensors))
    tensor = d.tensors[name]
    other = d.random.choice(
        [np.dtype(each) for each in ("<u8", "<u4", "<i4", "<f4", "<u2", "u1") if each != tensor.dtype]
    )
    if d.random.random() < 0.5:  # as many numbers as before
        with np.errstate(all="ignore"):
            d.tensors[name] = tensor.astype(other)
    else:  # the same bytes
        d.tensors[name] = np.frombuffer(tensor.tobytes() + bytes(-tensor.nbytes % other.itemsize), other)


@kind("made: tensors missing or too many")
def change_names(d: Draft) -> None:
    name = d.random.choice(list(d.tensors))
    rest = name.partition(".")[2]
    other = d.random.choice(
        [f"2.{rest}", f"1.{rest}", "more", "1.shares", "1.symbols", "1.gates", f"{name}.more", "1.", ""]
    )
    how = d.random.choice(["remove", "rename", "copy"])
    if how != "remove":
        d.tensors[other] = d.tensors[name]
    if how != "copy" and other != name:
        del d.tensors[name]


@kind("made: maps without shares, shares without maps")
def remove_shares(d: Draft) -> None:
    ending = d.random.choice([".shares", ".symbols"])
    found = [name for name in d.tensors if name.count(".") == 1 and name.endswith(ending)]
    if not found:
        raise NothingToDamageError
    for name in found if d.random.random() < 0.5 else [d.random.choice(found)]:
        del d.tensors[name]


@kind("made: a wider or narrower component")
def change_symbols(d: Draft) -> None:
    """Let a component have more or fewer symbols, with all that is counted by symbols as long as it should be."""
    number = d.random.randrange(len(d.metadata["components"])) + 1
    body = d.metadata["components"][number - 1]["body"]
    if body["kind"] not in ("ngrams", "contexts"):
        raise NothingToDamageError
    lists = {table.name: table for table in _tables(d, 0) if table.name.startswith(f"{number}.")}
    old = body["sizes"][0] if body["kind"] == "ngrams" else body["symbols"]
    new = max(1, d.random.choice([old - 1, old + 1, 1, 300, 70_000]))
    if body["kind"] == "ngrams":
        body["sizes"][0] = new
    else:
        body["symbols"] = new
    sizes = {"unigrams": new + 1, "weights": 2 * new + 2, "order3.ranks": new + 1, "order2.factors": 8 * new}
    for name in [name for name in d.tensors if name.partition(".")[2] in sizes and name.startswith(f"{number}.")]:
        d.tensors[name] = np.resize(d.tensors[name], sizes[name.partition(".")[2]])
    for name in [name for name in d.tensors if name.startswith(f"{number}.") and name.endswith(".symbols")]:
        if name.count(".") > 1 and ".contexts." not in name:
            own = _numbers(d, name, lists[name.removesuffix(".symbols")].records, bits_of(old - 1))
            d.tensors[name] = pack(own & ((1 << bits_of(new - 1)) - 1), bits_of(new - 1))
    runs = f"{number}.order2.runs"
    if runs in d.tensors:
        bits = lists[f"{number}.order2"].run_bits
        d.tensors[runs] = np.resize(d.tensors[runs], packed_bytes(new + 1, bits))


@kind("made: components")
def change_components(d: Draft) -> None:
    """Leave components out, repeat them or change their order; weights are made to sum to one again."""
    old = d.metadata["components"]
    numbers = list(range(len(old)))
    how = d.random.choice(["less", "more", "shuffled"])
    if how == "less":
        numbers = d.random.sample(numbers, d.random.randint(1, len(numbers)))
    elif how == "more":
        numbers += d.random.choices(numbers, k=d.random.choice([1, 2, 30]))
    else:
        d.random.shuffle(numbers)
    mine = {name: tensor for name, tensor in d.tensors.items() if name.startswith("vocab.")}
    made = []
    for number in numbers:
        about = json.loads(json.dumps(old[number]))
        own = {name: x for name, x in d.tensors.items() if name.startswith(f"{number + 1}.")}
        if d.random.random() < 0.3 and "members" in about:
            del about["members"], about["root"], own[f"{number + 1}.gates"]
        made.append(about)
        mine |= {f"{len(made)}.{name.partition('.')[2]}": x for name, x in own.items()}
    alone, left = [], 0
    for about in made:
        alone += [about] if left == 0 else []
        left = about.get("members", 0) if left == 0 else left - 1
    for about in alone:
        about["weight"] = 1 / len(alone)
    orders = [
        len(b["sizes"]) if "chain" not in b else 1 + max(x[1] for x in b["chain"]) for b in (a["body"] for a in alone)
    ]
    d.metadata |= {"components": made, "order": max(orders)}
    d.tensors = mine


@kind("made: a long chain")
def lengthen_chain(d: Draft) -> None:
    """Let a component of contexts have many more levels: copies of its last one, of which nobody has a run."""
    bodies = {
        k: about["body"] for k, about in enumerate(d.metadata["components"], 1) if about["body"]["kind"] == "contexts"
    }
    if not bodies:
        raise NothingToDamageError
    number = d.random.choice(list(bodies))
    chain = bodies[number]["chain"]
    last = len(chain)
    shapes = {
        part: next(x for x in _tables(d, 0) if x.name == f"{number}.level{last}.{part}")
        for part in ("contexts", "events")
    }
    owners = len(d.tensors[f"{number}.level{last}.contexts.lines"]) // 2
    for level in range(last + 1, last + 1 + d.random.choice([1, 5, 28, 60, 70, 400])):
        chain.append(chain[last - 1])
        for name in ("shards", "sizes"):
            bodies[number][name].append(bodies[number][name][last - 1])
        for part, shape in shapes.items():
            for name in ("lines", "seeds", "symbols", "ends"):
                d.tensors[f"{number}.level{level}.{part}.{name}"] = d.tensors[f"{number}.level{last}.{part}.{name}"]
            runs = np.full(packed_bytes(owners, shape.run_bits), 255, np.uint8)
            d.tensors[f"{number}.level{level}.{part}.runs"] = runs


@kind("made: more shards")
def add_shards(d: Draft) -> None:
    """Let a table say that it has more shards, with or without the memory for them."""
    tables = [table for table in _tables(d, 0) if not table.name.endswith(".contexts")]
    if not tables:
        raise NothingToDamageError
    name = d.random.choice(tables).name
    number, _, rest = name.partition(".")
    body = d.metadata["components"][int(number) - 1]["body"]
    bits = d.random.choice([1, 2, 5, 9])
    level = int(rest.split(".")[0].removeprefix("level").removeprefix("order"))
    if body["kind"] == "contexts":
        body["shards"][level - 1][1] += bits
    else:
        body["shards"][level - 2] += bits
    for part in d.random.choice([["lines", "seeds"], ["lines", "seeds"], ["lines"], ["seeds"], []]):
        d.tensors[f"{name}.{part}"] = np.tile(d.tensors[f"{name}.{part}"], 1 << bits)


@kind("made: led by unigrams")
def lead_by_unigrams(d: Draft) -> None:
    """Let unigrams lead a component that has rows of gates for longer contexts."""
    numbers = [k for k, about in enumerate(d.metadata["components"], 1) if "members" in about]
    if not numbers:
        raise NothingToDamageError
    number = d.random.choice(numbers)
    own = {name.partition(".")[2]: x for name, x in d.tensors.items() if name.startswith(f"{number}.")}
    del own["gates"]
    second = {**d.metadata["components"][number - 1], "weight": 1.0}
    body = {"kind": "ngrams", "sizes": second["body"]["sizes"][:1], "missing": True, "shards": []}
    first = {"body": body, "weight": 1.0, "members": second.pop("members"), "root": second.pop("root")}
    first["members"] = d.random.choice([1, 1, 2, 5])
    d.tensors = {name: x for name, x in d.tensors.items() if name.startswith("vocab.")}
    d.tensors |= {f"1.{name}": own[name] for name in ("unigrams", "weights", "symbols", "shares") if name in own}
    d.tensors["1.gates"] = np.full(16 * (1 + first["members"]), 0.5, np.float32)
    for k in range(first["members"]):
        d.tensors |= {f"{2 + k}.{name}": x for name, x in own.items()}
    d.metadata |= {"components": [first, *([second] * first["members"])], "order": 1}


@kind("made: many orders")
def heighten_order(d: Draft) -> None:
    """Let a component of n-grams have many more orders, which hold nothing."""
    bodies = {
        k: about["body"] for k, about in enumerate(d.metadata["components"], 1) if about["body"]["kind"] == "ngrams"
    }
    plain = [k for k, body in bodies.items() if len(body["sizes"]) > 1 and f"{k}.gates" not in d.tensors]
    if not plain:
        raise NothingToDamageError
    number = d.random.choice(plain)
    body = bodies[number]
    old, new = len(body["sizes"]), d.random.choice([len(body["sizes"]) + 1, 33, 34, 35, 36, 64])
    body["sizes"] += [0] * (new - old)
    body["shards"] += [0] * (new - old)
    d.metadata["order"] = max(d.metadata["order"], new)
    words = 4 if body["missing"] else 3
    top = next(x for x in _tables(d, 0) if x.name == f"{number}.order{old}")
    shape = t.Shape.planned(top.records, words)
    d.tensors[f"{top.name}.lines"] = np.zeros(shape.shards * shape.height * 16, np.int32)
    owners = shape.slots
    for n in range(old + 1, new + 1):
        name = f"{number}.order{n}"
        d.tensors |= {
            f"{name}.lines": np.zeros(16, np.int32),
            f"{name}.seeds": np.zeros(1, np.uint8),
            f"{name}.symbols": np.zeros(PADDING, np.uint8),
            f"{name}.ends": np.zeros(1, np.uint64),
            f"{name}.runs": np.full(packed_bytes(owners, 1), 255, np.uint8),
        }
        owners = 16 // words


@dataclass(frozen=True)
class Damaged:
    """A damaged file: what it was, what was done to it, and its bytes."""

    sound: Sound
    kind: Kind
    data: bytes
    draft: Draft | None

    def signed(self, digest: str) -> bytes:
        """The same file with this checksum."""
        if self.draft is None or not isinstance(self.draft.metadata, dict):
            return self.data
        self.draft.metadata["digest"] = digest
        return self.draft.build()


def damaged(sounds: Sequence[Sound], seed: int) -> Damaged:
    """The file with this number."""
    chance = random.Random(seed)
    while True:
        group = chance.choices(list(SHARES), list(SHARES.values()))[0]
        chosen = KINDS[chance.choice([name for name in KINDS if name.startswith(f"{group}:")])]
        draft = Draft(chance.choice(sounds), chance)
        with contextlib.suppress(NothingToDamageError):
            data = chosen.apply(draft)
            return Damaged(draft.sound, chosen, data or draft.build(), None if data else draft)


# --- memory that nobody may touch ------------------------------------------------------------------------------------

_PAGE = mmap.PAGESIZE


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def guarded(array: NDArray[Any], at_end: bool) -> NDArray[Any]:
    """A copy of an array that begins right after, or ends right before, a page that can be neither read nor written."""
    pages = max(1, -(-array.nbytes // _PAGE))
    room = mmap.mmap(-1, (pages + 2) * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = np.frombuffer(room, np.uint8).ctypes.data
    for page in (0, pages + 1):
        if _libc().mprotect(ctypes.c_void_p(address + page * _PAGE), ctypes.c_size_t(_PAGE), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    start = _PAGE + (pages * _PAGE - array.nbytes if at_end else 0)
    copy = np.frombuffer(room, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    return copy


class GuardedNumpy:
    """Stands in for numpy in modules that ask questions: the arrays that they make for kernels are guarded ones.

    What is new in them is no zeros but garbage, so that whoever reads what was not written is noticed, too.
    """

    def __init__(self) -> None:
        #: None: arrays are just arrays.
        self.at_end: bool | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def _made(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if self.at_end is None or array.dtype == object else guarded(array, self.at_end)

    def empty(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        array = np.empty(*arguments, **options)
        if self.at_end is not None and array.dtype != object:
            array.reshape(-1).view(np.uint8)[:] = 0xA5
        return self._made(array)

    def zeros(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        return self._made(np.zeros(*arguments, **options))

    def full(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        return self._made(np.full(*arguments, **options))

    def array(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        return self._made(np.array(*arguments, **options))

    def concatenate(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        return self._made(np.concatenate(*arguments, **options))


def guard_answers() -> GuardedNumpy:
    """Let all that asks questions use guarded memory, as soon as it is told so."""
    stand_in = GuardedNumpy()
    for module in (lm, plan, scoring, steps, vocabulary):
        module.np = stand_in  # type: ignore[attr-defined]
    return stand_in


def guard_model(model: LanguageModel, at_end: bool) -> LanguageModel:
    """The same model with all its arrays guarded."""

    def copy(array: NDArray[Any] | None) -> Any:
        return None if array is None else guarded(array, at_end)

    vocab = Vocabulary(copy(model.vocab.arena), copy(model.vocab.starts), copy(model.vocab.slots))
    components = [
        replace(
            each,
            body=replace(each.body, tensors={name: copy(tensor) for name, tensor in each.body.tensors.items()}),
            symbols=copy(each.symbols),
            shares=copy(each.shares),
            gates=each.gates and replace(each.gates, table=copy(each.gates.table)),
        )
        for each in model.components
    ]
    return LanguageModel(vocab, components, model.metadata, model.path)


# --- questions -------------------------------------------------------------------------------------------------------


def _walk(model: LanguageModel, sound: Sound) -> list[bytes]:
    """Some states of a model."""
    states = [model.null_state(), model.begin_state()]
    for line in sound.lines[:3]:
        state = states[1]
        for word in line.split():
            state = model.advance(state, word)[1]
            states.append(state)
    return states[:12]


def _next_to(model: LanguageModel, sound: Sound, ask: Callable[[Any], object]) -> None:
    """Ask about contexts of all lengths."""
    line = sound.lines[0].split() or sound.words
    for context in ((), line[:1], line[:2], line, " ".join(line[-3:]), model.begin_state(), ["zzz"], [0, 2, 1]):
        ask(context)


def _all_ngrams(model: LanguageModel, sound: Sound) -> None:
    for n in range(1, model.order + 2):
        for _ in itertools.islice(model.ngrams(n), 50):
            pass


QUESTIONS: dict[str, Callable[[LanguageModel, Sound], object]] = {
    "info": lambda m, s: (m.info(), m.nbytes, repr(m)),
    "describe": lambda m, s: describe_model(m),
    "words": lambda m, s: (list(m.vocab), [word in m for word in [*s.words, "zzz", ""]]),
    "score": lambda m, s: [m.score(line) for line in s.lines],
    "full_scores": lambda m, s: [list(m.full_scores(line, bos=False)) for line in s.lines[:3]],
    "score_lines": lambda m, s: m.score_lines(s.lines * 6, threads=1),
    "perplexity": lambda m, s: m.perplexity(s.lines, threads=1),
    "advance": _walk,
    "full_advance": lambda m, s: [m.full_advance(state, w) for state in _walk(m, s)[:4:3] for w in (s.words[0], 2)],
    "advance_many": lambda m, s: [m.advance_many(state, [*s.words, "zzz", 0, 2]) for state in _walk(m, s)[-2:]],
    "advance_batch": lambda m, s: m.advance_batch(_walk(m, s), (s.words * 12)[: len(_walk(m, s))]),
    "context": lambda m, s: [m.context(state) for state in _walk(m, s)],
    "prob": lambda m, s: [m.prob(word, context) for word in (s.words[0], 1) for context in ((), s.words[:3], [2, 1])],
    "distribution": lambda m, s: _next_to(m, s, m.distribution),
    "distributions": lambda m, s: m.distributions(_walk(m, s)),
    "next_words": lambda m, s: _next_to(m, s, lambda context: m.next_words(context, 5, special=True)),
    "sample": lambda m, s: m.sample(max_words=10, seed=1),
    "samples": lambda m, s: m.samples(2, s.words[:2], max_words=6, seed=2, temperature=0.7, threads=1),
    "neighbours": lambda m, s: [m.neighbours(word, 3) for word in s.words[:2]],
    "ngrams": _all_ngrams,
}
#: What takes longer; only every fourth file is asked this, too.
LONG_QUESTIONS: dict[str, Callable[[LanguageModel, Sound], object]] = {
    "mix": lambda m, s: plre.mix([m, m], weights=[0.5, 0.5]).distribution(s.words[:2]),
    "prune": lambda m, s: plre.prune(m, threshold=1e-4, threads=1).score(s.lines[0]),
}


def ask_all(model: LanguageModel, sound: Sound, begin: Callable[[str], None], long: bool = True) -> list[str]:
    """Ask a model everything; says which questions raised what they should not."""
    wrong = []
    for name, question in {**QUESTIONS, **(LONG_QUESTIONS if long else {})}.items():
        begin(name)
        try:
            question(model, sound)
        except plre.PlreError:
            pass
        except Exception as error:
            wrong.append(f"{name}: {_described(error)}")
    return wrong


def _described(error: BaseException) -> str:
    """An error, and where in plre it came from."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "plre" in code.co_filename and "tests" not in code.co_filename:
            place = f" ({Path(code.co_filename).name}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}: {str(error)[:100]}"


@dataclass(frozen=True)
class Outcome:
    """What became of a file. It was ``refused``, or loaded and then ``found`` to be wrong by verify, or ``passed``."""

    seed: int
    model: str
    kind: str
    result: str
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"file {self.seed} ({self.model}, {self.kind}): {'; '.join(self.wrong) or self.result}"


def examine(each: Damaged, seed: int, folder: Path, numpy: GuardedNumpy, begin: Callable[[str], None]) -> Outcome:
    """Write a damaged file, load it, ask it everything and verify it."""
    path = folder / "damaged.plre"

    def done(result: str, wrong: list[str]) -> Outcome:
        return Outcome(seed, each.sound.name, each.kind.name, result, wrong)

    def write(data: bytes) -> None:
        path.unlink(missing_ok=True)  # the old one may still be mapped
        path.write_bytes(data)

    numpy.at_end = None
    try:
        begin("load")
        write(each.data)
        model = plre.load(path)
        if each.kind.signed:
            begin("sign")
            write(each.signed(storage.checksum(model)))
            model = plre.load(path)
        guard = seed % 3
        if guard:
            begin("guard")
            numpy.at_end = guard == 1
            model = guard_model(model, guard == 1)
    except plre.PlreError:
        return done("refused", [])
    except Exception as error:
        return done("failed", [f"load: {_described(error)}"])
    wrong = ask_all(model, each.sound, begin, seed % 4 == 0)
    begin("verify")
    try:
        model.verify()
        result = "passed"
    except plre.PlreError:
        result = "found"
    except Exception as error:
        result = "found"
        wrong.append(f"verify: {_described(error)}")
    if result == "passed" and each.kind.structural:
        wrong.append("not found by verify")
    return done("failed" if wrong else result, wrong)


# --- processes -------------------------------------------------------------------------------------------------------

#: Seconds of processor time that a file may take, and seconds in all.
LIMIT, LIMIT_IN_ALL = 10.0, 120.0
#: Bytes that a file may take beyond what the process had before.
MEMORY = 1 << 29


def _raise() -> None:
    raise KeyError("a test")


def _loop() -> None:
    while True:
        pass


def _past() -> NDArray[np.int64]:
    """An array that says it is longer than the memory that it has."""
    short = guarded(np.zeros(2, np.int64), True)
    return np.lib.stride_tricks.as_strided(short, (600,))


#: What the files with these numbers do instead of being asked: to see that it is noticed.
REHEARSALS: dict[int, tuple[str, Callable[[], object]]] = {
    -1: ("KeyError", _raise),
    -2: ("took too long", _loop),
    -3: ("died", lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    -4: ("died", lambda: _past().__setitem__(slice(None), 1)),
}


def worker(folder: Path, seeds: Sequence[int], limit: float) -> None:
    """Examine files with these numbers, a line of JSON each; a child process does it, and another one if that dies."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sounds = [Sound.read(path) for path in sorted(folder.glob("*.plre"))]
    for sound in sounds:  # so that all kernels are there when children are forked
        model = plre.load(folder / f"{sound.name}.plre")
        model.verify()
        if wrong := ask_all(model, sound, lambda name: None):
            raise SystemExit(f"{sound.name}, which is not damaged: {wrong}")
    asked = mmap.mmap(-1, 64)  # shared with children: what they are doing
    done = 0
    with tempfile.TemporaryDirectory() as place:
        while done < len(seeds):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                _work(sounds, seeds[done:], limit, asked, Path(place), writer)
            os.close(writer)
            with os.fdopen(reader) as lines:
                for line in lines:
                    sys.stdout.write(line)
                    done += 1
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != 0:
                print(json.dumps(_blamed(sounds, seeds[done], asked[:].rstrip(b"\0").decode(), status)))
                done += 1
            sys.stdout.flush()


def _blamed(sounds: list[Sound], seed: int, what: str, status: int) -> list[Any]:
    """The outcome of a file that ended its process, as JSON has it."""
    slow = -status in (signal.SIGPROF, signal.SIGALRM)
    how = "took too long" if slow else f"died ({signal.Signals(-status).name if status < 0 else status})"
    each = damaged(sounds, seed) if seed >= 0 else None
    about = (each.sound.name, each.kind.name) if each else ("", "rehearsal")
    return [seed, *about, "failed", [f"{what}: {how}"]]


def _work(sounds: list[Sound], seeds: Sequence[int], limit: float, asked: mmap.mmap, place: Path, writer: int) -> None:
    """What a child process does; it never returns."""
    import resource  # which only Unix has

    numpy = guard_answers()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * _PAGE + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.collect()
    gc.freeze()  # so that collecting again, for the models of files, takes no time

    def begin(name: str) -> None:
        asked[:] = name.encode().ljust(64, b"\0")

    with os.fdopen(writer, "w") as out:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_PROF, limit if seed >= 0 else 0.3)
            signal.setitimer(signal.ITIMER_REAL, LIMIT_IN_ALL)
            begin("make")
            gc.collect()
            if seed < 0:
                outcome = _rehearse(seed)
            else:
                outcome = examine(damaged(sounds, seed), seed, place, numpy, begin)
            out.write(json.dumps([outcome.seed, outcome.model, outcome.kind, outcome.result, outcome.wrong]) + "\n")
            out.flush()
    os._exit(0)


def _rehearse(seed: int) -> Outcome:
    try:
        REHEARSALS[seed][1]()
    except Exception as error:
        return Outcome(seed, "", "rehearsal", "failed", [_described(error)])
    return Outcome(seed, "", "rehearsal", "passed")


def examine_all(folder: Path, seeds: Iterable[int], workers: int = 1, limit: float = LIMIT) -> list[Outcome]:
    """What becomes of the files with these numbers, in no order."""
    numbers = list(seeds)
    command = [sys.executable, "-m", "tests.model.test_hostile", str(folder), str(limit)]
    found: list[Outcome] = []
    failed: list[int] = []

    def run(number: int) -> None:
        own = numbers[number::workers]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(own))
            process.stdin.close()
            found.extend(Outcome(*json.loads(line)) for line in process.stdout)
        failed.append(process.returncode)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(failed) or len(found) != len(numbers):
        raise RuntimeError(f"workers ended with {failed} after {len(found)} of {len(numbers)} files")
    return found


#: What can be wrong, by what an outcome says of it; an exception says something else.
TROUBLES = ("died", "took too long", "not found by verify")
OTHER_EXCEPTION = "raised another exception"


def troubles(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many files died, took too long, raised what is no PlreError, or are wrong but not found to be."""
    return Counter(
        trouble
        for outcome in outcomes
        for trouble in {next((x for x in TROUBLES if x in text), OTHER_EXCEPTION) for text in outcome.wrong}
    )


def summary(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """How often each kind of damage had which result."""
    found: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    for outcome in outcomes:
        found.setdefault(outcome.kind, Counter())[outcome.result] += 1
    return found


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    folder = tmp_path_factory.mktemp("hostile")
    make_models(folder)
    return examine_all(folder, [*REHEARSALS, *range(FILES)])


def test_the_worker_notices(outcomes: list[Outcome]) -> None:
    found = {outcome.seed: outcome.wrong for outcome in outcomes if outcome.seed in REHEARSALS}
    for seed, (what, _) in REHEARSALS.items():
        assert what in found[seed][0]


def test_no_file_does_harm(outcomes: list[Outcome]) -> None:
    wrong = [str(outcome) for outcome in outcomes if outcome.seed >= 0 and outcome.wrong]
    assert not wrong, f"{len(wrong)} of {FILES} files:\n" + "\n".join(wrong[:40])


def test_all_kinds_of_files_are_tried(outcomes: list[Outcome]) -> None:
    found = summary(outcomes)
    assert all(found[name] for name in KINDS)
    results = sum(found.values(), Counter())
    assert min(results[result] for result in ("refused", "found", "passed")) > FILES // 50


if __name__ == "__main__":
    worker(Path(sys.argv[1]), json.load(sys.stdin), float(sys.argv[2]))
