from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.tables.packing import bits_of, pack, pack_records, packed_bytes, unpack

FIELDS = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(FIELDS, st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_fields_of_records_are_read_as_they_were_written(widths: list[int], count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    fields = [random.integers(0, 2**bits, count) for bits in widths]
    packed = pack_records(list(zip(fields, widths, strict=True)), count)
    assert len(packed) == packed_bytes(count, sum(widths))
    for k, (values, bits) in enumerate(zip(fields, widths, strict=True)):
        np.testing.assert_array_equal(unpack(packed, count, bits, sum(widths[:k]), sum(widths)), values)


@given(st.lists(st.integers(0, 2**33 - 1), min_size=1))
def test_a_readable_twin(values: list[int]) -> None:
    """The numbers stand end to end, the lowest bits first."""
    bits = bits_of(max(values))
    whole = sum(value << (bits * i) for i, value in enumerate(values))
    assert int.from_bytes(pack(np.array(values), bits).tobytes(), "little") == whole


def test_a_list_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        unpack(pack(np.arange(10), 4), 100, 4)
