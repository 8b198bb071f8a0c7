"""Raw memory inside kernels: reads at any byte, and prefetching.

Numba has no words for these three things, so they are made of LLVM's own. ``array`` is any contiguous array, or bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    proxy: Any = cgutils.create_struct_proxy
    return proxy(array_type)(context, builder, value=array).data


def _address(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    data = _data(context, builder, array_type, array)
    return builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [at])


@_intrinsic
def bytes_at(typing_context: Any, address: Any, size: Any) -> Any:
    """The memory at an address as an array of bytes, which the caller keeps alive: to pass a number is faster."""
    array_type = types.Array(types.uint8, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(array_type)(context, builder)
        pointer = builder.inttoptr(arguments[0], context.get_data_type(types.uint8).as_pointer())
        shape = cgutils.pack_array(builder, [arguments[1]])  # type: ignore[no-untyped-call]
        strides = cgutils.pack_array(builder, [context.get_constant(types.intp, 1)])  # type: ignore[no-untyped-call]
        populate: Any = arrayobj.populate_array
        one = context.get_constant(types.intp, 1)
        populate(array, data=pointer, shape=shape, strides=strides, itemsize=one, meminfo=None)
        return array._getvalue()

    return array_type(types.int64, types.int64), generate


def _load(bits: int, result: Any) -> Any:
    @_intrinsic
    def load(typing_context: Any, array: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _address(context, builder, signature.args[0], *arguments)
            return builder.load(builder.bitcast(address, ir.IntType(bits).as_pointer()), align=1)

        return result(array, types.int64), generate

    return load


#: The 8 bytes from byte ``at`` of ``array`` on, aligned or not.
load64 = _load(64, types.uint64)
#: The 4 bytes from byte ``at`` of ``array`` on, aligned or not.
load32 = _load(32, types.int32)


@_intrinsic
def get(typing_context: Any, array: Any, at: Any) -> Any:
    """``array[at]`` for an index that is not negative: numba would look whether it counts from the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature.args[0], arguments[0])
        return context.unpack_value(builder, signature.return_type, builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.int64), generate


@_intrinsic
def put(typing_context: Any, array: Any, at: Any, value: Any) -> Any:
    """``array[at] = value`` for an index that is not negative."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data(context, builder, signature.args[0], arguments[0])
        context.pack_value(builder, signature.args[2], arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


@_intrinsic
def trailing_zeros(typing_context: Any, value: Any) -> Any:
    """How many of the lowest bits of a number are 0; it must not be 0 itself."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


@_intrinsic
def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Begin to fetch the cache line of byte ``at``, so that it is there when it is read a little later."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@_intrinsic
def as_float(typing_context: Any, bits: Any) -> Any:
    """The single precision number with these 32 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@_intrinsic
def as_bits(typing_context: Any, number: Any) -> Any:
    """The 32 bits of a single precision number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@_intrinsic
def match_line(typing_context: Any, slots: Any, at: Any, tag: Any, bits: Any) -> Any:
    """The largest of the 16 numbers ``slots[at], ...`` whose bits from ``bits`` on are ``tag``, or 0; all at once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32 = ir.IntType(32)
        vector = ir.VectorType(i32, 16)

        def everywhere(value: Any) -> Any:
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, i32(0))
            mask = ir.Constant(vector, [0] * 16)
            return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)

        place = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        line = builder.load(builder.bitcast(place, vector.as_pointer()), align=4)
        upper = builder.lshr(line, everywhere(arguments[3]))
        matching = builder.icmp_unsigned("==", upper, everywhere(arguments[2]))
        kept = builder.select(matching, line, ir.Constant(vector, [0] * 16))
        name = "llvm.vector.reduce.umax.v16i32"
        largest = cgutils.get_or_insert_function(builder.module, ir.FunctionType(i32, [vector]), name)  # type: ignore[no-untyped-call]
        return builder.call(largest, [kept])

    return types.uint32(slots, types.int64, types.uint32, types.uint32), generate


@_intrinsic
def call_address(typing_context: Any, address: Any, *arguments: Any) -> Any:
    """Call a C kernel (``_jit.c_kernel``) by its address: any number of int64 arguments, an int64 as result."""
    i64 = ir.IntType(64)
    count = len(arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target = builder.inttoptr(values[0], ir.FunctionType(i64, [i64] * count).as_pointer())
        return builder.call(target, [builder.extract_value(values[1], at) for at in range(count)])

    tuple_type: Any = types.UniTuple
    return types.int64(types.int64, tuple_type(types.int64, count)), generate
