"""Vectors inside kernels: eight numbers side by side, or four.

Numba turns a loop into vectors only where it sees that this is allowed and worth it, which for rows of 16 or 28 numbers
it does not. So the kernels say what they mean: a row is padded to a multiple of ``LANES``, and these
functions load, combine and store that many numbers at once. LLVM maps them to whatever the processor has (two halves
where its vectors are shorter).

Nothing here checks bounds. ``like`` is any array; its type is the precision of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

#: Numbers in a vector; rows of factors are padded to a multiple of it.
LANES = 8

#: As in ``_jit``: sums may be reordered, products and sums fused; infinities and NaN keep their meaning.
_FAST = ("reassoc", "contract", "nsz", "arcp")
#: (ln(1 + z) - z) / z^2 for z from 1/sqrt(2) - 1 to sqrt(2) - 1.
_LOG = (
    -0.4999999480766187, 0.3333365978950334, -0.2500160962219394, 0.1997310588197900,
    -0.1657504809664581, 0.1480645956295903, -0.1425779503604017, 0.0900420225131945,
)  # fmt: skip
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's, for type checkers: a kernel calls the function with other arguments than it is written with."""
    made: Callable[..., Any] = numba_intrinsic(function)
    return made


class Lanes(types.Type):  # type: ignore[misc]
    """The type of a vector of ``count`` numbers of type ``dtype``."""

    def __init__(self, dtype: Any, count: int = LANES) -> None:
        self.dtype = dtype
        self.count = count
        super().__init__(name=f"Lanes({dtype}, {count})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, _vector(lanes))  # type: ignore[no-untyped-call]


def _vector(lanes: Lanes) -> Any:
    return ir.VectorType(ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType(), lanes.count)


def _constant(vector: Any, numbers: Any) -> Any:
    return ir.Constant(vector, list(numbers))


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, _constant(ir.VectorType(_I32, len(lanes)), lanes))


def _fill(builder: Any, number: Any, vector: Any) -> Any:
    """All lanes the same."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, _I32(0))
    return _shuffle(builder, one, one, [0] * vector.count)


def _address(context: Any, builder: Any, array: Any, value: Any, index: Any, vector: Any = None) -> Any:
    pointer = builder.gep(context.make_array(array)(context, builder, value).data, [index])
    return builder.bitcast(pointer, vector.as_pointer()) if vector else pointer


def _load(array: Any, like: Any, count: int) -> Any:
    result = Lanes(like.dtype, count)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stored = _vector(Lanes(array.dtype, count))
        address = _address(context, builder, array, args[0], args[1], stored)
        found = builder.load(address, align=array.dtype.bitwidth // 8)
        return found if array.dtype == result.dtype else builder.fpext(found, _vector(result))

    return result(array, types.intp, like), codegen


@intrinsic
def load(context: Any, array: Any, index: Any, like: Any) -> Any:
    """Eight numbers of ``array`` from ``index`` on."""
    return _load(array, like, LANES)


@intrinsic
def load_four(context: Any, array: Any, index: Any, like: Any) -> Any:
    """Four numbers of ``array`` from ``index`` on."""
    return _load(array, like, 4)


@intrinsic
def store(context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Put eight numbers into ``array`` from ``index`` on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stored = _vector(Lanes(array.dtype, lanes.count))
        numbers = args[2] if array.dtype == lanes.dtype else builder.fptrunc(args[2], stored)
        builder.store(
            numbers, _address(context, builder, array, args[0], args[1], stored), align=array.dtype.bitwidth // 8
        )
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic
def element(context: Any, array: Any, index: Any) -> Any:
    """``array[index]`` for an index that is not negative, which numba would otherwise have to ask each time."""
    result = types.intp if isinstance(array.dtype, types.Integer) else array.dtype

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.load(_address(context, builder, array, args[0], args[1]))
        return builder.sext(found, _I64) if array.dtype == types.int32 else found

    return result(array, types.intp), codegen


@intrinsic
def zeros(context: Any, like: Any) -> Any:
    """Eight zeros."""
    result = Lanes(like.dtype)
    return result(like), lambda context, builder, signature, args: _constant(_vector(result), [0.0] * LANES)


@intrinsic
def times(context: Any, a: Any, b: Any) -> Any:
    """Lane by lane, a b."""
    return a(a, a), lambda context, builder, signature, args: builder.fmul(*args, flags=_FAST)


@intrinsic
def plus(context: Any, a: Any, b: Any) -> Any:
    """Lane by lane, a + b."""
    return a(a, a), lambda context, builder, signature, args: builder.fadd(*args, flags=_FAST)


@intrinsic
def times_plus(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Lane by lane, a b + c (one instruction where there is one)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(builder.fmul(args[0], args[1], flags=_FAST), args[2], flags=_FAST)

    return a(a, a, a), codegen


@intrinsic
def over(context: Any, a: Any, b: Any, least: Any) -> Any:
    """Lane by lane, a / max(b, least)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        floor = _fill(builder, args[2], args[1].type)
        return builder.fdiv(args[0], builder.select(builder.fcmp_ordered(">", args[1], floor), args[1], floor))

    return a(a, a, a.dtype), codegen


@intrinsic
def drop(context: Any, a: Any, least: Any) -> Any:
    """Lane by lane, a, or 0 where it is not above ``least``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], _fill(builder, args[1], args[0].type))
        return builder.select(above, args[0], _constant(args[0].type, [0.0] * a.count))

    return a(a, a.dtype), codegen


@intrinsic
def totals(context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The four sums over all lanes of a, of b, of c and of d."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def pairs(x: Any, y: Any, even: list[int], odd: list[int]) -> Any:
            return builder.fadd(_shuffle(builder, x, y, even), _shuffle(builder, x, y, odd), flags=_FAST)

        halves = [pairs(x, x, [0, 1, 2, 3], [4, 5, 6, 7]) for x in args]
        even, odd = [0, 2, 4, 6], [1, 3, 5, 7]
        ab, cd = pairs(halves[0], halves[1], even, odd), pairs(halves[2], halves[3], even, odd)
        return pairs(ab, cd, even, odd)

    return Lanes(a.dtype, 4)(a, a, a, a), codegen


@intrinsic
def total(context: Any, a: Any) -> Any:
    """The sum over all lanes of a vector of four."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, second, third, fourth = (builder.extract_element(args[0], _I32(i)) for i in range(4))
        low, high = builder.fadd(first, second, flags=_FAST), builder.fadd(third, fourth, flags=_FAST)
        return builder.fadd(low, high, flags=_FAST)

    return a.dtype(a), codegen


@intrinsic
def only(context: Any, a: Any, count: Any) -> Any:
    """The first ``count`` lanes; the others become 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers = ir.VectorType(_I64, a.count)
        kept = builder.icmp_signed("<", _constant(numbers, range(a.count)), _fill(builder, args[1], numbers))
        return builder.select(kept, args[0], _constant(args[0].type, [0.0] * a.count))

    return a(a, types.intp), codegen


@intrinsic
def spread(context: Any, a: Any, lane: Any) -> Any:
    """Eight times the number in one lane (which is written as a number) of a vector of four."""
    if not isinstance(lane, types.IntegerLiteral):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _shuffle(builder, args[0], args[0], [lane.literal_value] * LANES)

    return Lanes(a.dtype)(a, lane), codegen


@intrinsic
def log(context: Any, a: Any) -> Any:
    """Lane by lane, the natural logarithm of positive numbers (not tiny ones), to single precision.

    With a = 2^e m, m between 1/sqrt(2) and sqrt(2), and z = m - 1 it is e ln 2 + z + z^2 q(z), where q is a polynomial
    of degree 7, nearest to what it stands for at Chebyshev's points; the error is below 3e-8.
    """
    bits, digits, bias = (32, 23, 127) if a.dtype == types.float32 else (64, 52, 1023)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = args[0].type
        whole = ir.VectorType(ir.IntType(bits), a.count)

        def same(number: float, kind: Any = vector) -> Any:
            return _constant(kind, [number] * a.count)

        def fused(x: Any, y: Any, more: Any) -> Any:
            return builder.fadd(builder.fmul(x, y, flags=_FAST), more, flags=_FAST)

        # Subtracting 1/sqrt(2)'s bits first moves the cut between exponents from 1 to 1/sqrt(2).
        half = (bias - 1 << digits) + int(0.41421356 * (1 << digits))
        moved = builder.sub(builder.bitcast(args[0], whole), same(half, whole))
        exponent = builder.sitofp(builder.ashr(moved, same(digits, whole)), vector)
        rest = builder.add(builder.and_(moved, same((1 << digits) - 1, whole)), same(half, whole))
        z = builder.fsub(builder.bitcast(rest, vector), same(1.0))
        series = same(_LOG[-1])
        for term in _LOG[-2::-1]:
            series = fused(series, z, same(term))
        return fused(exponent, same(0.6931471805599453), fused(builder.fmul(z, z), series, z))

    return a(a), codegen
