# SPDX-License-Identifier: Apache-2.0
"""Every operator under torch.ops.mluops, on torch 1.13 and later: tensors, settings, threads.

test_torch_gradients.py has the gradients, test_torch_errors.py the errors.
"""

import copy
import doctest
import importlib
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import mluops
import mluops.torch as ours
import samples


def call(name, change=lambda features: features, dtype=torch.float32):
    operator, arguments = samples.make(dtype)[name]
    at = samples.features_of(arguments)
    arguments[at] = change(arguments[at])
    return samples.outputs_of(operator(*arguments))


def strided(x):
    """Returns the same values with gaps in memory."""
    return torch.stack([x, torch.full_like(x, float("nan"))], dim=-1)[..., 0]


@pytest.mark.parametrize("name", samples.NAMES)
def test_feature_strides_do_not_change_results(name):
    for expected, actual in zip(call(name), call(name, strided)):
        assert torch.equal(expected, actual)
        assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", samples.NAMES)
def test_expanded_features_are_accepted(name):
    def expand_first_element(x):
        return x[:1, :1].expand_as(x)

    expected = call(name, lambda x: expand_first_element(x).contiguous())
    for a, b in zip(expected, call(name, expand_first_element)):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "name",
    [n for n in samples.NAMES if not n.startswith("roiaware") and not n.startswith("masked")],
)
def test_channels_last_gives_equal_values(name):
    expected, *_ = call(name)
    actual, *_ = call(name, lambda x: x.contiguous(memory_format=torch.channels_last))
    assert torch.equal(expected, actual)
    if not name.startswith("ps_roi_pool"):  # its C operator is NCHW
        assert actual.is_contiguous(memory_format=torch.channels_last)
    assert expected.is_contiguous()


@pytest.mark.parametrize("name", samples.NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_results_have_the_type_of_the_features(name, dtype):
    operator, arguments = samples.make(dtype)[name]
    at = samples.features_of(arguments)
    actual, *rest = samples.outputs_of(operator(*arguments))
    assert actual.dtype == dtype
    arguments[at] = arguments[at].float()
    expected, *expected_rest = samples.outputs_of(operator(*arguments))
    # Boxes are float32 here, so the operator computes in float32 and rounds once.
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float64: 0}[dtype]
    assert torch.allclose(actual.float(), expected, rtol=tolerance, atol=1e-6)
    for a, b in zip(rest, expected_rest):
        assert torch.equal(a, b)


def test_half_features_do_not_round_float_boxes():
    input = torch.arange(64.0).view(1, 1, 8, 8).repeat(1, 4, 1, 1).half()
    boxes = torch.tensor([[[0.3001, 0.3001, 5.7003, 5.7003]]])  # not representable in half
    exact = mluops.torch.border_align(input.float(), boxes, 4)
    assert torch.equal(mluops.torch.border_align(input, boxes, 4), exact.half())
    rounded = mluops.torch.border_align(input.float(), boxes.half().float(), 4)
    assert not torch.equal(rounded.half(), exact.half())


@pytest.mark.parametrize("name", samples.NAMES)
def test_meta_tensors_have_shape_type_and_strides(name):
    operator, arguments = samples.make()[name]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        at = samples.features_of(arguments)
        if arguments[at].dim() == 4:
            arguments[at] = arguments[at].contiguous(memory_format=memory_format)
        real = samples.outputs_of(operator(*arguments))
        on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
        for expected, actual in zip(real, samples.outputs_of(operator(*on_meta))):
            assert actual.device.type == "meta"
            assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
            assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", samples.NAMES)
def test_bits_do_not_depend_on_the_number_of_threads(name):
    before = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            torch.set_num_threads(count)
            results.append(call(name))
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_set_num_threads_changes_the_handle():
    from mluops.torch._context import context_of

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert context_of(torch.zeros(1)).num_threads == 3
    finally:
        torch.set_num_threads(before)


def test_deterministic_algorithms_select_the_atomics_mode():
    from mluops import _context
    from mluops.torch._context import context_of

    try:
        torch.use_deterministic_algorithms(True)
        assert context_of(torch.zeros(1))._atomics == _context.ATOMICS_NOT_ALLOWED
        torch.use_deterministic_algorithms(False)
        assert context_of(torch.zeros(1))._atomics == _context.ATOMICS_ALLOWED
    finally:
        torch.use_deterministic_algorithms(False)


def test_autocast_does_not_cast():
    operator, arguments = samples.make()["psa_mask"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert operator(*arguments).dtype == torch.float32
        arguments[0] = arguments[0].bfloat16()
        assert operator(*arguments).dtype == torch.bfloat16


def test_no_rois_give_an_empty_result():
    ops = torch.ops.mluops
    assert ops.rfcn_ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(0, 5), 1.0, 2)[0].shape[0] == 0
    assert ops.ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(0, 5), 1.0, 2, 2).shape[0] == 0
    assert ops.border_align(torch.zeros(1, 4, 3, 3), torch.zeros(1, 0, 4), 2)[0].numel() == 0
    pooled, argmax, _ = ops.roiaware_pool3d(
        torch.zeros(1, 7), torch.zeros(0, 3), torch.zeros(0, 2), [1, 1, 1], 4, 0
    )
    assert (pooled == 0).all() and (argmax == -1).all()


def test_python_threads_are_independent():
    expected = {name: call(name) for name in samples.NAMES}
    failures = []

    def work():
        for name in samples.NAMES:
            for a, b in zip(call(name), expected[name]):
                if not torch.equal(a, b):
                    failures.append(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_forked_child_computes_the_same_bits():
    code = (
        "import os, samples, torch\n"
        "operator, arguments = samples.make()['psa_mask']\n"
        "expected = operator(*arguments)\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if torch.equal(operator(*arguments), expected) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        cwd=samples.__file__.rpartition("/")[0],
    )


def test_modules_can_be_copied_and_pickled():
    import pickle

    module = mluops.torch.BorderAlign(3)
    assert repr(copy.deepcopy(module)) == repr(pickle.loads(pickle.dumps(module))) == repr(module)


def test_modules_can_be_scripted():
    car, point = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]]), torch.tensor([[0.0, 0, 1]])
    cases = [
        (ours.PSAMask("collect", (3, 3)), (torch.rand(1, 9, 4, 4),)),
        (ours.PSAMask("distribute", 3), (torch.rand(1, 9, 4, 4),)),
        (ours.BorderAlign(2), (torch.rand(1, 4, 4, 4), torch.tensor([[[0.0, 0, 2, 2]]]))),
        (ours.PSRoIPool(2, 1.0), (torch.rand(1, 4, 4, 4), torch.tensor([[0.0, 0, 0, 2, 2]]))),
        (ours.RoIAwarePool3d(2, box_origin="center"), (car, point, torch.rand(1, 3))),
        (
            ours.MaskedConv2d(2, 3, 3, padding=1),
            (torch.rand(2, 2, 4, 4), torch.rand(2, 4, 4) - 0.5),
        ),
    ]
    for module, inputs in cases:
        scripted = torch.jit.script(module)
        assert torch.equal(scripted(*inputs), module(*inputs)), module


@pytest.mark.parametrize(
    "module, text",
    [
        (ours.PSAMask("collect", 3), "PSAMask(psa_type=collect, mask_size=3)"),
        (ours.BorderAlign(4), "BorderAlign(pool_size=4)"),
        (
            ours.RoIAwarePool3d(2, 8, "avg"),
            "RoIAwarePool3d(out_size=2, max_pts_per_voxel=8, mode='avg', box_origin='bottom')",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_repr_shows_the_arguments(module, text):
    assert repr(module) == text


def test_indices_beyond_int32_count_as_outside():
    feature = torch.ones(1, 1, 2, 2)
    far, near = torch.tensor([1 << 32, -(1 << 40)]), torch.tensor([0, 0])
    columns = torch.ops.mluops.masked_im2col(feature, far, near, [1, 1], [0, 0])
    assert columns.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "name", ["border_align", "masked_conv", "ps_roi_pool", "psa_mask", "roiaware_pool3d"]
)
def test_docstring_examples_run(name):
    module = importlib.import_module(f"mluops.torch.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 1
