# SPDX-License-Identifier: Apache-2.0
"""The NumPy level: inputs, outputs and errors. test_pages.py checks the values."""

import doctest
import pickle
import pkgutil
import subprocess
import sys
import threading
import time

import mluops
import mluops.arrays
import numpy as np
import pytest

X = np.random.default_rng(0).random((2, 4, 3, 15), np.float32)
EXPECTED = mluops.psamask_forward(X, 0, 3, 5)


def test_docstring_examples_run():
    options = doctest.NORMALIZE_WHITESPACE
    for module in pkgutil.iter_modules(mluops.arrays.__path__):
        if not module.name.startswith("_"):
            name = f"mluops.arrays.{module.name}"
            result = doctest.testmod(sys.modules[name], extraglobs={"np": np}, optionflags=options)
            assert result.failed == 0 and result.attempted > 0, name


def test_every_operator_has_an_example():
    for name in mluops.arrays.__all__:
        if name.endswith(("forward", "backward", "transpose")):
            assert ">>>" in getattr(mluops, name).__doc__, name


def test_unpacked_inputs_are_copied():
    wide = np.repeat(X, 2, axis=3)[..., ::2]
    assert not wide.flags.c_contiguous
    assert np.array_equal(mluops.psamask_forward(wide, 0, 3, 5), EXPECTED)


def test_read_only_inputs_are_accepted():
    fixed = X.copy()
    fixed.flags.writeable = False
    assert np.array_equal(mluops.psamask_forward(fixed, 0, 3, 5), EXPECTED)


def test_unaligned_inputs_are_copied():
    raw = np.zeros(X.nbytes + 1, np.uint8)
    odd = raw[1:].view(np.float32).reshape(X.shape)
    odd[...] = X
    assert not odd.flags.aligned
    assert np.array_equal(mluops.psamask_forward(odd, 0, 3, 5), EXPECTED)


def test_dlpack_inputs_are_accepted():
    class OnlyDlpack:
        def __dlpack__(self, *arguments, **options):
            return X.__dlpack__(*arguments, **options)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    assert np.array_equal(mluops.psamask_forward(OnlyDlpack(), 0, 3, 5), EXPECTED)


def test_array_interface_inputs_are_accepted():
    class OnlyInterface:
        __array_interface__ = X.__array_interface__

    assert np.array_equal(mluops.psamask_forward(OnlyInterface(), 0, 3, 5), EXPECTED)


def test_output_argument_is_filled_and_returned():
    y = np.full(EXPECTED.shape, np.nan, np.float32)
    assert mluops.psamask_forward(X, 0, 3, 5, y=y) is y
    assert np.array_equal(y, EXPECTED)


@pytest.mark.parametrize(
    "y, message",
    [
        (np.zeros((2, 4, 3, 12), np.float64), "y.dtype must be the same as that of x"),
        (np.zeros((2, 4, 3, 13), np.float32), r"y.shape\[3\] must be H\*W = 12, got 13"),
        (np.zeros((2, 4, 3, 24), np.float32)[..., ::2], "y must be packed, aligned and writable"),
        (np.zeros((2, 4, 3, 12), ">f4"), "^psamask_forward: y must have a type of"),
        ([0.0], "^psamask_forward: y must be a numpy.ndarray, got list"),
    ],
)
def test_wrong_output_raises_bad_param(y, message):
    with pytest.raises(mluops.BadParamError, match=message):
        mluops.psamask_forward(X, 0, 3, 5, y=y)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mluops.psamask_forward(X, 2, 3, 5), "psa_type must be 0 or 1, got 2"),
        (
            lambda: mluops.psamask_forward(X[0], 0, 3, 5),
            "^psamask_forward: x must be a tensor of 4 dims, got 3",
        ),
        (
            lambda: mluops.psamask_forward(X.astype(np.int32), 0, 3, 5),
            "x.dtype must be float32 or float64",
        ),
        (lambda: mluops.psamask_forward(X.astype("S4"), 0, 3, 5), "must have a type of"),
        (lambda: mluops.psamask_forward(X, 0, 3, 5 + 2**32), "must be an integer that fits"),
        (lambda: mluops.psamask_forward(X, 0, 3, 5.5), "must be an integer"),
        (lambda: mluops.psamask_forward(X, 0, 3, "5"), "w_mask must be a number, got '5'"),
        (lambda: mluops.psamask_forward(X, 0, 1 << 40, 3), "fits in int32, got 1099511627776"),
        (lambda: mluops.psamask_forward(None, 0, 3, 5), "x must be an array of numbers, got None"),
        (lambda: mluops.psamask_forward("abc", 0, 3, 5), "x must be an array of numbers, got str"),
        (
            lambda: mluops.set_num_threads(-1),
            r"^set_num_threads: count must be in \[0, 1024\], got -1",
        ),
        (lambda: mluops.set_num_threads(1025), "^set_num_threads: count must be in .*, got 1025"),
        (lambda: mluops.set_num_threads(1 << 40), "^set_num_threads: count must be in"),
        (
            lambda: mluops.set_num_threads("2"),
            "^set_num_threads: count must be an integer, got '2'",
        ),
    ],
)
def test_broken_rule_raises_with_message(call, message):
    with pytest.raises(mluops.BadParamError, match=message) as caught:
        call()
    assert isinstance(caught.value, (mluops.Error, ValueError))
    assert caught.value.status == 3


def test_unsupported_size_raises_not_supported():
    at = np.zeros(1, np.int32)
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**31, 1), (0, 0))
    y = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1, 2**31, 1, 1), (0, 0, 0, 0))
    # Unpacked, so it would be copied; the C library rejects the descriptors before that.
    from mluops._table import Table
    from mluops.arrays._arrays import ArrayContext

    with pytest.raises(mluops.NotSupportedError, match=r"2147483648|2\^31"):
        ArrayContext().call(Table("masked_col2im_forward"), (), (huge, at, at, y))


def test_workspace_getters_return_sizes():
    at, feature = np.zeros(5, np.int32), np.zeros((1, 3, 8, 8), np.float32)
    columns = mluops.masked_im2col_forward(feature, at, at, 3, 3, 1, 1)
    assert mluops.masked_im2col_forward_workspace_size(feature, at, at, 3, 3, columns) >= 0
    assert mluops.masked_col2im_forward_workspace_size(columns[:3], at, at, feature) >= 0
    points = np.zeros((4, 3), np.float32)
    assert (
        mluops.roiaware_pool3d_forward_workspace_size(
            np.zeros((1, 7), np.float32), points, np.zeros((4, 2), np.float32)
        )
        >= 0
    )


def test_set_num_threads_applies_to_all_threads():
    before, seen = mluops.get_num_threads(), []
    try:
        mluops.set_num_threads(3)
        thread = threading.Thread(target=lambda: seen.append(mluops.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [3] and mluops.get_num_threads() == 3
    finally:
        mluops.set_num_threads(0)
    assert mluops.get_num_threads() == before


def test_call_releases_the_gil():
    """A second thread counts during a call of some tenths of a second."""
    x = np.zeros((1, 80, 80, 79 * 79), np.float32)
    y = np.empty((1, 80, 80, 80 * 80), np.float32)
    count, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        mluops.psamask_forward(x, 1, 79, 79, y=y)
        before = count[0]
        start = time.perf_counter()
        mluops.psamask_forward(x, 1, 79, 79, y=y)
        took = time.perf_counter() - start
        ticks = count[0] - before
    finally:
        stop.set()
        thread.join()
    assert took < 0.02 or ticks > 1


def test_cache_accepts_more_shapes_than_it_holds():
    from mluops import _context

    for size in range(1, _context._MAX_PLANS + 50):
        assert mluops.transpose(np.ones((1, 1, size), np.float32)).shape == (1, size, 1)


def test_handles_of_ended_threads_are_freed():
    """Memory does not grow with ended threads, and the library still works."""
    for _ in range(50):
        thread = threading.Thread(target=mluops.psamask_forward, args=(X, 0, 3, 5))
        thread.start()
        thread.join()
    assert np.array_equal(mluops.psamask_forward(X, 0, 3, 5), EXPECTED)


def test_import_needs_no_torch():
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "import mluops, numpy\n"
        "mluops.psamask_forward(numpy.zeros((1, 1, 1, 1), numpy.float32), 0, 1, 1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_library_links_neither_torch_nor_python():
    from mluops import _library

    listed = subprocess.run(["ldd", _library._path], check=True, capture_output=True, text=True)
    needed = [line.split()[0] for line in listed.stdout.splitlines()]
    assert any("hwy" in name for name in needed)
    for name in ("torch", "c10", "python", "cudart", "tbb"):
        assert not any(name in library for library in needed)


def test_library_exports_only_the_api():
    from mluops import _library

    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _library._path], check=True, capture_output=True, text=True
    )
    names = [line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()]
    assert names and all(name.startswith(("mluOp", "cnrt", "MLUOPS")) for name in names)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: mluops.psamask_backward(EXPECTED, 0, -1, 3), ValueError, "size of dx must be in"),
        (
            lambda: mluops.set_num_threads(2.5),
            ValueError,
            "^set_num_threads: count must be an integer",
        ),
        (
            lambda: mluops.border_align_backward(
                np.zeros((1, 1, 4, 1), np.float32),
                np.zeros((1, 1, 4), np.float32),
                np.zeros((1, 1, 4, 1), np.int32),
                2,
                3.0,
                3,
            ),
            ValueError,
            "must be an integer, got 3.0",
        ),
        (
            lambda: mluops.psroipool_forward_workspace_size(X, np.zeros((1, 5), "f"), 2.5, 2, 1),
            ValueError,
            "must be an integer",
        ),
        (
            lambda: mluops.psamask_backward(EXPECTED, 0, 1 << 30, 1 << 30),
            mluops.Error,
            "2\\^31|must be",
        ),
    ],
)
def test_invalid_sizes_raise_with_message(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, mluops.Error)


def test_failing_calls_do_not_leak_descriptors():
    from mluops import _context
    from mluops.arrays._arrays import current

    for size in range(1, 2 * _context._MAX_PLANS):
        with pytest.raises(mluops.BadParamError):
            mluops.psamask_forward(np.zeros((1, 1, 1, size), np.float32), 7, 1, 1)
    assert len(current()._plans) <= _context._MAX_PLANS
    assert len(current()._descriptors) <= 6 * _context._MAX_PLANS


def test_exceptions_are_shown_and_pickled_under_their_public_names():
    for kind in (mluops.Error, mluops.BadParamError, mluops.NotSupportedError):
        assert f"{kind.__module__}.{kind.__name__}" == f"mluops.{kind.__name__}"
        assert type(pickle.loads(pickle.dumps(kind("message")))) is kind


def test_inputs_of_foreign_byte_order_are_copied():
    x = np.random.rand(1, 2, 2, 9).astype(np.float32)
    expected = mluops.psamask_forward(x, 0, 3, 3)
    assert np.array_equal(mluops.psamask_forward(x.astype(">f4"), 0, 3, 3), expected)


def test_a_negative_grid_size_is_named():
    rois, pts, features = (np.zeros((2, n), np.float32) for n in (7, 3, 1))
    for at, name in enumerate(("out_x", "out_y", "out_z")):
        grid = [1, 1, 1]
        grid[at] = -2
        with pytest.raises(mluops.BadParamError, match=rf"{name} must be in \[0, 2\^31\), got -2"):
            mluops.roiaware_pool3d_forward(rois, pts, features, 0, 4, *grid)
