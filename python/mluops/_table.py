# SPDX-License-Identifier: Apache-2.0
"""The tables of the C operators, as the library describes them: names, types, layouts and shapes of
their arguments. The shapes of results are computed from them, with SymInts too."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._library import BadParamError, check, fail, function

_MAX_ATTRIBUTES, _MAX_TENSORS = 10, 6  # MLUOP_ATTRIBUTE_MAX, MLUOP_TENSOR_MAX
NCHW, NHWC, ANY_LAYOUT = 0, 1, 4  # mluOpTensorLayout_t
_INT32 = 6  # mluOpDataType_t
_NAME = re.compile(r"[A-Za-z_]\w*")
_TYPES = {"half": "float16", "float": "float32", "double": "float64"}  # C's names
_TYPE = re.compile(r"\b(half|float|double)\b")

Shape = Sequence[Any]  # of int or SymInt


class _AttributeInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("is_real", ctypes.c_int),
        ("min", ctypes.c_int64),
        ("max", ctypes.c_int64),
    ]


class _TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("shape", ctypes.c_char_p),
        ("is_output", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("layout", ctypes.c_int),
    ]


class _OperatorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("takes_half", ctypes.c_int),
        ("attribute_count", ctypes.c_int),
        ("tensor_count", ctypes.c_int),
        ("attributes", _AttributeInfo * _MAX_ATTRIBUTES),
        ("tensors", _TensorInfo * _MAX_TENSORS),
    ]


_find = function("mluOpFindOperator", ctypes.c_char_p, ctypes.c_void_p)
_describe = function("mluOpDescribeOperator", ctypes.c_void_p, ctypes.c_void_p)


class Row(NamedTuple):
    """A tensor of a table."""

    name: str
    dims: Tuple[Tuple[Union[int, str], ...], ...]  # factors: numbers, attributes, symbols
    is_output: bool
    is_index: bool  # int32; else T, the type of the call
    layout: int

    @property
    def is_permuted(self) -> bool:
        """Whether PyTorch's dims are in another order: NCHW instead of NHWC."""
        return self.layout == NHWC


def _row(info: _TensorInfo) -> Row:
    dims = tuple(
        tuple(int(factor) if factor.isdigit() else factor for factor in dim.split("*"))
        for dim in info.shape.decode().split()
    )
    is_index = info.dtype == _INT32
    return Row(info.name.decode(), dims, bool(info.is_output), is_index, info.layout)


def _product(factors: Sequence[Union[int, str]], values: Mapping[Any, Any]) -> Any:
    """Returns the product of numbers and of the values of symbols."""
    result: Any = None
    for factor in factors:
        value = values[factor] if type(factor) is str else factor
        result = value if result is None else result * value
    return result


class Table:
    """The table of one C operator.

    `called` and `names` are for error messages. They are the name of PyTorch's operator, and what
    its users call the arguments and symbols whose C names differ. A single output is the "result".
    NumPy's functions have the names of C. `features` is the C name of the features, by default the
    first input of type T.
    """

    def __init__(
        self,
        name: str,
        called: str = "",
        names: Optional[Mapping[str, str]] = None,
        features: str = "",
    ):
        pointer, info = ctypes.c_void_p(), _OperatorInfo()
        check(_find(name.encode(), ctypes.addressof(pointer)))
        check(_describe(pointer, ctypes.addressof(info)))
        self.name, self.op = name, pointer.value
        self.called, self.names = called, dict(names or {})
        self.takes_half = bool(info.takes_half)
        self.attributes = tuple(a.name.decode() for a in info.attributes[: info.attribute_count])
        self.tensors = tuple(_row(t) for t in info.tensors[: info.tensor_count])
        self.inputs = tuple(row for row in self.tensors if not row.is_output)
        self.outputs = tuple(row for row in self.tensors if row.is_output)
        if called and len(self.outputs) == 1:
            self.names.setdefault(self.outputs[0].name, "result")
        self._symbols = {f for row in self.tensors for dim in row.dims for f in dim}
        self._steps: Dict[tuple, Any] = {}  # by the known symbols and the ranks
        self.has_indices = any(row.is_index for row in self.inputs)
        self.features = features or next(row.name for row in self.inputs if not row.is_index)

    def shapes(
        self, attributes: Sequence[Any], inputs: Sequence[Optional[Shape]], sizes: Dict[str, Any]
    ) -> List[Tuple[Any, ...]]:
        """Computes the shapes of the outputs from the shapes of the inputs, as the library does.

        `sizes` has the symbols that no input determines. Inputs that break the rules give arbitrary
        shapes; the library's checks then report the rule."""
        for symbol, size in sizes.items():
            if type(size) is int and size < 0:
                raise BadParamError(f"{self.place(symbol)} must be >= 0, got {size}")
        ranks = tuple([None if shape is None else len(shape) for shape in inputs])
        key = (len(attributes), *sizes, *ranks)
        steps = self._steps.get(key)
        if steps is None:
            steps = self._steps[key] = self._solve(len(attributes), sizes, ranks)
        values: Dict[Any, Any] = dict.fromkeys(self._symbols, 0)
        values.update(zip(self.attributes, attributes))
        values.update(sizes)
        for i, j, symbol, factors in steps:
            size = inputs[i][j]  # type: ignore[index]
            if factors:
                known = _product(factors, values)
                values[symbol] = size // known if known else 0
            else:
                values[symbol] = size
        return [tuple([_product(dim, values) for dim in row.dims]) for row in self.outputs]

    def _solve(
        self, attribute_count: int, sizes: Iterable[str], ranks: Sequence[Optional[int]]
    ) -> List[Tuple[int, int, str, Tuple[Union[int, str], ...]]]:
        """Returns the steps that determine the symbols: input, dim, symbol, and the other factors
        of that dim, which are known before."""
        known = {*self.attributes[:attribute_count], *sizes}
        dims = [
            (i, j, dim)
            for i, (row, rank) in enumerate(zip(self.inputs, ranks))
            for j, dim in enumerate(row.dims[: rank or 0])
        ]
        steps = []
        for bare in (True, False):
            for i, j, dim in dims:
                unknown = [f for f in dim if isinstance(f, str) and f not in known]
                if len(unknown) == 1 and (len(dim) == 1) == bare:
                    others = tuple(f for f in dim if f != unknown[0])
                    steps.append((i, j, unknown[0], others))
                    known.add(unknown[0])
        return steps

    def translate(self, text: str) -> str:
        """Replaces the C names in a text by Python's."""
        return _NAME.sub(lambda match: self.names.get(match[0], match[0]), text)

    def place(self, name: str) -> str:
        """Returns the beginning of an error message about the argument of this C name."""
        return f"{self.called or self.name}: {self.translate(name)}"

    def word(self, error: Any, attributes: Sequence[float] = ()) -> Optional[str]:
        """Returns the error message with Python's names, and PyTorch's order of dims at that level,
        or None."""
        if error.op != self.name:
            return None
        rows = {row.name: row for row in self.tensors}
        place, index = self.place(error.argument), error.index
        if error.property:
            place += f".{error.property}"
        if index >= 0:
            row = rows.get(error.argument)
            is_permuted = self.called and row is not None and row.is_permuted
            place += f"[{(0, 2, 3, 1)[index] if is_permuted else index}]"
        rule, value = self.translate(error.rule), error.value
        if error.property == "dtype":
            rule, value = (_TYPE.sub(lambda m: _TYPES[m[0]], text) for text in (rule, value))
        if "e+" in value and index < 0 and not error.property and error.argument in self.attributes:
            exact = dict(zip(self.attributes, attributes)).get(error.argument, math.nan)
            value = f"{exact:.0f}" if exact == float(f"{exact:.0f}") else value
        return f"{place} must {rule}, got {value}"

    def fail(self, status: int, attributes: Sequence[float] = ()) -> None:
        """`attributes`: the values of the call, of which the library gives few digits."""
        fail(status, lambda error: self.word(error, attributes))


__all__ = ["ANY_LAYOUT", "NCHW", "NHWC", "BadParamError", "Row", "Table"]
