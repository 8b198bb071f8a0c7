"""Raw memory inside kernels: reads and writes at an address, prefetching, vectors.

Numba has no words for these, so they are made of LLVM's own. An address is a plain integer; whoever reads from one that
a file had a say in must have checked it first (``model/_plan.py``). Functions that take an ``array`` take any
contiguous one, or bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, box, intrinsic, make_attribute_wrapper, models, register_model, unbox
from numba.np import arrayobj

_I1, _I8, _I16, _I32, _I64, _I128 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64, 128))
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_LINE = ir.VectorType(_I32, 16)


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    proxy: Any = cgutils.create_struct_proxy
    return proxy(array_type)(context, builder, value=array).data


def _reader(kind: Any, result: Any, widen: Any = None) -> Any:
    @_intrinsic
    def peek(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
            return builder.zext(value, widen) if widen is not None else value

        return result(types.int64), generate

    return peek


def _writer(kind: Any, given: Any, narrow: bool = False) -> Any:
    @_intrinsic
    def poke(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.trunc(arguments[1], kind) if narrow else arguments[1]
            builder.store(value, builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, given), generate

    return poke


#: The byte at an address.
peek8 = _reader(_I8, types.int64, _I64)
#: The number of 4 bytes at an address, which is not negative.
peek32 = _reader(_I32, types.int64, _I64)
#: The 8 bytes at an address.
peek64 = _reader(_I64, types.int64)
#: The single precision number at an address.
peek_float = _reader(_FLOAT, types.float32)
#: The double precision number at an address.
peek_double = _reader(_DOUBLE, types.float64)
#: Write the lowest byte of a number to an address, its lowest 4 bytes, all of it, or a double precision number.
poke8 = _writer(_I8, types.int64, narrow=True)
poke32 = _writer(_I32, types.int64, narrow=True)
poke64 = _writer(_I64, types.int64)
poke_double = _writer(_DOUBLE, types.float64)


@_intrinsic
def address_of(typing_context: Any, array: Any) -> Any:
    """Where the data of an array is; the array must outlive all use of it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(_data(context, builder, signature.args[0], arguments[0]), _I64)

    return types.int64(array), generate


class _PlainBytes(types.Type):
    """Python bytes as an address and a size: numba's own type for them takes three times as long to pass."""

    def __init__(self) -> None:
        super().__init__(name="PlainBytes")


plain_bytes = _PlainBytes()


@register_model(_PlainBytes)
class _PlainBytesModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.int64), ("size", types.int64)])  # type: ignore[no-untyped-call]


make_attribute_wrapper(_PlainBytes, "data", "data")
make_attribute_wrapper(_PlainBytes, "size", "size")


@unbox(_PlainBytes)  # type: ignore[no-untyped-call, untyped-decorator]
def _unbox_bytes(kind: Any, given: Any, c: Any) -> Any:
    """Take bytes from Python; anything else has the size -1."""
    pointer, size = cgutils.alloca_once(c.builder, _I8.as_pointer()), cgutils.alloca_once(c.builder, _I64)  # type: ignore[no-untyped-call]
    good = c.pyapi.bytes_as_string_and_size(given, pointer, size)
    with c.builder.if_then(c.builder.not_(good), likely=False):
        c.pyapi.err_clear()
        c.builder.store(_I64(-1), size)
    result = cgutils.create_struct_proxy(kind)(c.context, c.builder)  # type: ignore[no-untyped-call]
    result.data = c.builder.ptrtoint(c.builder.load(pointer), _I64)
    result.size = c.builder.load(size)
    return NativeValue(result._getvalue())  # type: ignore[no-untyped-call]


class _PlainWord(types.Type):
    """A word from Python: a string as the address and the size of its UTF-8, an int as itself and -1.

    A string that has none is as good as an empty one; anything else has the size -2.
    """

    def __init__(self) -> None:
        super().__init__(name="PlainWord")


plain_word = _PlainWord()
register_model(_PlainWord)(_PlainBytesModel)
make_attribute_wrapper(_PlainWord, "data", "data")
make_attribute_wrapper(_PlainWord, "size", "size")


@unbox(_PlainWord)  # type: ignore[no-untyped-call, untyped-decorator]
def _unbox_word(kind: Any, given: Any, c: Any) -> Any:
    result = cgutils.create_struct_proxy(kind)(c.context, c.builder)  # type: ignore[no-untyped-call]
    kind_of = c.pyapi.get_type(given)
    is_text, is_int = (
        c.builder.icmp_unsigned("==", kind_of, c.pyapi.get_c_object(name)) for name in ("PyUnicode_Type", "PyLong_Type")
    )
    found, size = (cgutils.alloca_once_value(c.builder, _I64(value)) for value in (0, -2))  # type: ignore[no-untyped-call]
    with c.builder.if_then(c.builder.not_(is_int)):
        good, text, length = c.pyapi.string_as_string_and_size(given)
        with c.builder.if_else(good, likely=True) as (yes, no):
            with yes:
                c.builder.store(c.builder.ptrtoint(text, _I64), found)
                c.builder.store(length, size)
            with no:
                c.pyapi.err_clear()
                c.builder.store(c.builder.select(is_text, _I64(0), _I64(-2)), size)
    with c.builder.if_then(c.builder.icmp_signed("==", c.builder.load(size), _I64(-2)), likely=False):
        c.builder.store(c.pyapi.long_as_longlong(given), found)
        with c.builder.if_else(c.pyapi.c_api_error(), likely=False) as (failed, fine):
            with failed:
                c.pyapi.err_clear()
            with fine:
                c.builder.store(_I64(-1), size)
    result.data, result.size = c.builder.load(found), c.builder.load(size)
    return NativeValue(result._getvalue())  # type: ignore[no-untyped-call]


class _NumberAndBytes(types.Type):
    """A number and memory at an address, which Python gets as a float and bytes."""

    def __init__(self) -> None:
        super().__init__(name="NumberAndBytes")


_number_and_bytes = _NumberAndBytes()


@register_model(_NumberAndBytes)
class _NumberAndBytesModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        fields = [("number", types.float64), ("data", types.int64), ("size", types.int64)]
        super().__init__(manager, kind, fields)  # type: ignore[no-untyped-call]


@box(_NumberAndBytes)  # type: ignore[no-untyped-call, untyped-decorator]
def _box_number_and_bytes(kind: Any, value: Any, c: Any) -> Any:
    """Copy the memory before anything else is made: making a tuple may let other code run, which uses it again."""
    own = cgutils.create_struct_proxy(kind)(c.context, c.builder, value=value)  # type: ignore[no-untyped-call]
    copied = c.pyapi.bytes_from_string_and_size(c.builder.inttoptr(own.data, _I8.as_pointer()), own.size)
    number = c.pyapi.float_from_double(own.number)
    both = c.pyapi.tuple_pack([number, copied])
    c.pyapi.decref(number)
    c.pyapi.decref(copied)
    return both


@_intrinsic
def number_and_bytes(typing_context: Any, number: Any, address: Any, size: Any) -> Any:
    """A result of two for Python: a number, and the memory at an address as bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        result = cgutils.create_struct_proxy(_number_and_bytes)(context, builder)  # type: ignore[no-untyped-call]
        result.number, result.data, result.size = arguments
        return result._getvalue()

    return _number_and_bytes(types.float64, types.int64, types.int64), generate


@_intrinsic
def load64(typing_context: Any, array: Any, at: Any) -> Any:
    """The 8 bytes from byte ``at`` of ``array`` on, aligned or not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = builder.bitcast(_data(context, builder, signature.args[0], arguments[0]), _I8.as_pointer())
        return builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), _I64.as_pointer()), align=1)

    return types.uint64(array, types.int64), generate


@_intrinsic
def trailing_zeros(typing_context: Any, value: Any) -> Any:
    """How many of the lowest bits of a number are 0; it must not be 0 itself."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _I1(1))

    return types.uint64(types.uint64), generate


@_intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the lowest bit that is set in a mask; 64 if none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _I1(0))

    return types.int64(types.int64), generate


@_intrinsic
def high_product(typing_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of two numbers of 64 bits: ``b`` times the fraction ``a / 2^64``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = builder.mul(builder.zext(arguments[0], _I128), builder.zext(arguments[1], _I128))
        return builder.trunc(builder.lshr(wide, _I128(64)), _I64)

    return types.uint64(types.uint64, types.uint64), generate


def _prefetch(builder: Any, address: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
    builder.call(function, [address, _I32(0), _I32(3), _I32(1)])


@_intrinsic
def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Begin to fetch the cache line of byte ``at`` of an array, so that it is there when it is read a little later."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = builder.bitcast(_data(context, builder, signature.args[0], arguments[0]), _I8.as_pointer())
        _prefetch(builder, builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@_intrinsic
def prefetch_at(typing_context: Any, address: Any) -> Any:
    """Begin to fetch the cache line at an address; it may be any number, since nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _prefetch(builder, builder.inttoptr(arguments[0], _I8.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64), generate


@_intrinsic
def as_float(typing_context: Any, bits: Any) -> Any:
    """The single precision number with these 32 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _FLOAT)

    return types.float32(types.int32), generate


@_intrinsic
def as_bits(typing_context: Any, number: Any) -> Any:
    """The 32 bits of a single precision number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _I32)

    return types.int32(types.float32), generate


@_intrinsic
def match_line(typing_context: Any, address: Any, check: Any, lanes: Any) -> Any:
    """Which of the 16 numbers of a cache line are ``check``, as bits; only those of ``lanes`` count."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line = builder.load(builder.inttoptr(arguments[0], _LINE.as_pointer()), align=4)
        undefined = ir.Constant(_LINE, ir.Undefined)
        first = builder.insert_element(undefined, builder.trunc(arguments[1], _I32), _I32(0))
        everywhere = builder.shuffle_vector(first, undefined, ir.Constant(_LINE, [0] * 16))
        found = builder.bitcast(builder.icmp_unsigned("==", line, everywhere), _I16)
        return builder.zext(builder.and_(found, builder.trunc(arguments[2], _I16)), _I64)

    return types.uint64(types.int64, types.uint64, types.int64), generate


@_intrinsic
def dot_product(typing_context: Any, one: Any, other: Any, count: Any) -> Any:
    """The sum of the products of so many single precision numbers at two addresses, in double precision.

    Eight at a time; of the last ones, those that are not there are masked out, which is faster than one by one.
    """
    lanes = 8
    numbers, wide = ir.VectorType(_FLOAT, lanes), ir.VectorType(_DOUBLE, lanes)
    places, flags = ir.VectorType(_I64, lanes), ir.VectorType(_I1, lanes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other, count = arguments
        pointer = numbers.as_pointer()
        kind = ir.FunctionType(numbers, [pointer, _I32, flags, numbers])
        load = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.load.v8f32.p0")  # type: ignore[no-untyped-call]
        sums = cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * lanes))  # type: ignore[no-untyped-call]
        nothing = ir.Constant(numbers, [0.0] * lanes)

        def everywhere(value: Any) -> Any:
            first = builder.insert_element(ir.Constant(places, ir.Undefined), value, _I32(0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes))

        last = everywhere(count)
        with cgutils.for_range_slice(builder, _I64(0), count, _I64(lanes)) as (at, _):  # type: ignore[no-untyped-call]
            place = builder.add(everywhere(at), ir.Constant(places, list(range(lanes))))
            mask = builder.icmp_signed("<", place, last)
            skip = builder.shl(at, _I64(2))
            read = [
                builder.fpext(
                    builder.call(load, [builder.inttoptr(builder.add(start, skip), pointer), _I32(4), mask, nothing]),
                    wide,
                )
                for start in (one, other)
            ]
            builder.store(builder.fadd(builder.load(sums), builder.fmul(*read), flags=["contract"]), sums)
        total = builder.load(sums)
        for width in (4, 2, 1):
            halves = [
                builder.shuffle_vector(
                    total, total, ir.Constant(ir.VectorType(_I32, width), [first + k for k in range(width)])
                )
                for first in (0, width)
            ]
            total = builder.fadd(*halves)
        return builder.extract_element(total, _I32(0))

    return types.float64(types.int64, types.int64, types.int64), generate


@_intrinsic
def add_gathered(
    typing_context: Any, sums: Any, weight: Any, numbers: Any, limit: Any, table: Any, shares: Any, groups: Any
) -> Any:
    """``sums[i] += weight * numbers[min(table[i], limit)] * shares[i]`` for eight times ``groups`` places.

    All but ``weight`` are addresses or whole numbers, and numbers of the table are compared without a sign, so that it
    may hold anything. Symbols and numbers are loaded one by one: gathered loads take twice as long on processors that
    are guarded against Downfall, as most of Intel's are, and taking eight symbols out of a vector takes longer than
    loading them (loads of atomic kind stay single).
    """
    lanes = 8
    ints, singles, doubles = (ir.VectorType(kind, lanes) for kind in (_I32, _FLOAT, _DOUBLE))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, weight, numbers, limit, table, shares, groups = arguments

        def place(start: Any, at: Any, bytes_each: int, kind: Any) -> Any:
            return builder.inttoptr(builder.add(start, builder.mul(at, _I64(bytes_each))), kind.as_pointer())

        most = builder.trunc(limit, _I32)
        factor = builder.insert_element(ir.Constant(doubles, ir.Undefined), weight, _I32(0))
        factor = builder.shuffle_vector(factor, factor, ir.Constant(ints, [0] * lanes))
        with cgutils.for_range(builder, groups, intp=_I64) as loop:  # type: ignore[no-untyped-call]
            first = builder.mul(loop.index, _I64(lanes))
            found = ir.Constant(doubles, ir.Undefined)
            for lane in range(lanes):
                symbol = builder.load_atomic(place(table, builder.add(first, _I64(lane)), 4, _I32), "monotonic", 4)
                symbol = builder.select(builder.icmp_unsigned("<", symbol, most), symbol, most)
                number = builder.load(place(numbers, builder.zext(symbol, _I64), 8, _DOUBLE), align=8)
                found = builder.insert_element(found, number, _I32(lane))
            share = builder.fpext(builder.load(place(shares, first, 4, singles), align=4), doubles)
            own = place(sums, first, 8, doubles)
            made = builder.fmul(builder.fmul(factor, found), share)
            builder.store(builder.fadd(builder.load(own, align=8), made), own, align=8)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(whole, types.float64, whole, whole, whole, whole, whole), generate


@_intrinsic
def call_address(typing_context: Any, address: Any, *arguments: Any) -> Any:
    """Call a C kernel (``_jit.c_kernel``) by its address: any number of int64 arguments, an int64 as result."""
    count = len(arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target = builder.inttoptr(values[0], ir.FunctionType(_I64, [_I64] * count).as_pointer())
        return builder.call(target, [builder.extract_value(values[1], at) for at in range(count)])

    tuple_type: Any = types.UniTuple
    return types.int64(types.int64, tuple_type(types.int64, count)), generate


def _array_maker(dtype: Any) -> Any:
    @_intrinsic
    def array_at(typing_context: Any, address: Any, size: Any) -> Any:
        array_type = types.Array(dtype, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(array_type)(context, builder)
            pointer = builder.inttoptr(arguments[0], context.get_data_type(dtype).as_pointer())
            shape = cgutils.pack_array(builder, [arguments[1]])  # type: ignore[no-untyped-call]
            itemsize = context.get_constant(types.intp, dtype.bitwidth // 8)
            strides = cgutils.pack_array(builder, [itemsize])  # type: ignore[no-untyped-call]
            populate: Any = arrayobj.populate_array
            populate(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
            return array._getvalue()

        return array_type(types.int64, types.int64), generate

    return array_at


#: The memory at an address as an array of so many numbers, which the caller keeps alive.
longs_at = _array_maker(types.int64)
hashes_at = _array_maker(types.uint64)
floats_at = _array_maker(types.float32)
doubles_at = _array_maker(types.float64)
