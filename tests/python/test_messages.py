# SPDX-License-Identifier: Apache-2.0
"""Breaks every argument of every operator, and checks what the error messages name.

A message may name the operator's arguments, the parameters of the public function, and the symbols
of its docstring; a size in a message is the size of that dim in PyTorch's layout. The meta kernel
raises the same message.
"""

import inspect
import re

import pytest

torch = pytest.importorskip("torch")

import mluops
import mluops.torch as ours
import samples

SYMBOLS = {"N", "C", "H", "W", "K", "M", "B", "R", "P", "T", "result", "shape"}
# The results of operators with several, as their tests and pages call them.
RESULTS = {"output", "argmax", "indices", "mapping"}
# Words of the rules. A name that is not listed here must be one that the user has seen.
WORDS = set(
    [
        "must",
        "be",
        "have",
        "has",
        "a",
        "an",
        "the",
        "of",
        "or",
        "and",
        "at",
        "most",
        "below",
        "elements",
        "fewer",
        "than",
        "to",
        "in",
        "int32",
        "int64",
        "tensor",
        "dims",
        "floating",
        "point",
        "got",
        "integer",
        "that",
        "fits",
        "list",
        "numbers",
        "finite",
        "product",
        "real",
        "is",
        "not",
        "empty",
        "type",
        "torch",
        "above",
    ]
)


def calls():
    return {**samples.make(), **samples.make_without_derivatives()}


def broken_tensors(x):
    """Other ranks, sizes, types and memory formats."""
    yield x[0]
    yield x.unsqueeze(0)
    yield x.reshape((1,) * (10 - x.dim()) + tuple(x.shape))
    for dim in range(x.dim()):
        yield torch.cat([x, x.narrow(dim, 0, 1)], dim)
        if x.size(dim) > 1:
            yield x.narrow(dim, 0, x.size(dim) - 1)
        yield x.narrow(dim, 0, 0)
    for dtype in (torch.int16, torch.bool, torch.complex64, torch.uint8, torch.int32):
        yield x.to(dtype)


def broken(value):
    if isinstance(value, torch.Tensor):
        for x in broken_tensors(value):
            yield x
            if x.dim() == 4:
                yield x.contiguous(memory_format=torch.channels_last)
    elif isinstance(value, int):
        yield from (-1, 0, 2, value + 1, 1 << 31, 1 << 40, 70000)
    elif isinstance(value, float):
        yield from (0.0, -1.0, float("nan"), float("inf"))
    else:
        yield from ([], value + [1], [0] * len(value), [-1] * len(value), [1 << 33] * len(value))
        yield [each + 1 for each in value]


def error_of(operator, arguments):
    try:
        operator(*arguments)
    except Exception as error:
        return error
    return None


def names_of(operator):
    name = operator.default._schema.name.partition("::")[2]
    names = {argument.name for argument in operator.default._schema.arguments}
    called = name[5:] if name.startswith("rfcn_") else name
    if called in ours.__all__:
        public = getattr(ours, called)
        names |= set(inspect.signature(public).parameters)
        names |= set(re.findall(r"\w+", public.__doc__))
    return name, names | SYMBOLS | RESULTS


def broken_calls(name):
    """Yields the operator, its arguments with a broken one, and the index of that one. Leaves out
    sizes of results that do not fit into memory."""
    operator, arguments = calls()[name]
    schema = operator.default._schema.arguments
    for i, value in enumerate(arguments):
        is_size = schema[i].name in ("height", "width", "pts_num", "input_shape")
        for each in broken(value):
            largest = max(each, default=0) if isinstance(each, list) else each
            if is_size and 70000 <= largest < 1 << 32:
                continue
            yield operator, [*arguments[:i], each, *arguments[i + 1 :]], i


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", sorted(calls()))
def test_messages_name_what_the_user_passed(name):
    count = 0
    for operator, arguments, at in broken_calls(name):
        error = error_of(operator, arguments)
        if error is None:
            continue
        count += 1
        called, known = names_of(operator)
        message = str(error)
        assert isinstance(error, (mluops.BadParamError, mluops.NotSupportedError)), (
            at,
            error,
        )
        head, _, rest = message.partition(": ")
        assert head == called, message
        rule, _, got = rest.rpartition(", got ")
        unknown = set(re.findall(r"[A-Za-z_]\w*", rule)) - known - WORDS
        assert not unknown, (message, unknown)
        schema = [argument.name for argument in operator.default._schema.arguments]
        for tensor, dim in re.findall(r"^(\w+)\.shape\[(\d)\] must", rule):
            if tensor != "result":
                assert arguments[schema.index(tensor)].shape[int(dim)] == int(got), message
    assert count > 10


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", sorted(calls()))
def test_meta_kernels_raise_the_same_messages(name):
    for operator, arguments, _ in broken_calls(name):
        on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
        assert str(error_of(operator, arguments)) == str(error_of(operator, on_meta))


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="needs torch 2.4")
@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", sorted(calls()))
def test_meta_kernels_raise_the_same_messages_for_symbolic_shapes(name):
    from torch._subclasses.fake_tensor import FakeTensorMode, UnsupportedOperatorException
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    for operator, arguments, _ in broken_calls(name):
        error = error_of(operator, arguments)
        with FakeTensorMode(shape_env=ShapeEnv()) as mode:
            fake = [mode.from_tensor(a) if torch.is_tensor(a) else a for a in arguments]
            found = error_of(operator, fake)
        if isinstance(error, NotImplementedError):  # torch replaces the exception
            assert isinstance(found, UnsupportedOperatorException)
        else:
            assert str(error) == str(found)
