"""Raw memory inside kernels: reads at any byte, and prefetching.

Numba has no words for these three things, so they are made of LLVM's own. ``array`` is any contiguous array, or bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    proxy: Any = cgutils.create_struct_proxy
    return proxy(array_type)(context, builder, value=array).data


def _address(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    data = _data(context, builder, array_type, array)
    return builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [at])


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
