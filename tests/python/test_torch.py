# SPDX-License-Identifier: Apache-2.0
"""Every operator under torch.ops.mluops, on torch 1.13 and later: tensors, settings, threads.

test_torch_gradients.py has the gradients, test_torch_errors.py the errors.
"""

import doctest
import importlib
import io
import pkgutil
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import drop_ins
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


@pytest.mark.parametrize("name", samples.IMAGES)
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


@pytest.mark.parametrize("name", samples.NAMES)
def test_autocast_does_not_cast(name):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert call(name)[0].dtype == torch.float32
        assert call(name, dtype=torch.bfloat16)[0].dtype == torch.bfloat16


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
        "calls = samples.make().values()\n"
        "run = lambda: [samples.outputs_of(f(*arguments))[0] for f, arguments in calls]\n"
        "expected, child = run(), os.fork()\n"
        "if child == 0: os._exit(0 if all(map(torch.equal, run(), expected)) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        cwd=samples.__file__.rpartition("/")[0],
    )


@pytest.mark.parametrize("name", sorted(drop_ins.module_calls()))
def test_modules_can_be_scripted(name):
    module, inputs, _ = drop_ins.module_calls()[name]
    scripted = torch.jit.script(module)
    assert torch.equal(scripted(*inputs), module(*inputs))
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    assert torch.equal(torch.jit.load(file)(*inputs), module(*inputs))


def test_roiaware_pool3d_can_be_scripted():
    boxes, points = drop_ins.cars()
    inputs, scripted = (
        (boxes, points, drop_ins.randn(60, 3)),
        torch.jit.script(ours.roiaware_pool3d),
    )
    for size in (2, (2, 3, 1)):
        for mode in ("max", "avg", 0, 1):
            expected = ours.roiaware_pool3d(*inputs, size, 8, mode)
            assert torch.equal(scripted(*inputs, size, 8, mode), expected)


def test_pcdet_modules_can_be_scripted():
    from mluops.compat.pcdet import RoIAwarePool3d

    boxes, points = drop_ins.cars()
    module, inputs = RoIAwarePool3d(2, 8), (boxes, points, drop_ins.randn(60, 3))
    scripted = torch.jit.script(module)
    for method in ("max", "avg"):
        assert torch.equal(scripted(*inputs, method), module(*inputs, method))


@pytest.mark.parametrize("name", sorted(drop_ins.module_calls()))
def test_modules_can_be_traced_by_fx(name):
    """torch.fx sees one node for the call."""
    module, inputs, _ = drop_ins.module_calls()[name]
    traced = torch.fx.symbolic_trace(module)
    assert torch.equal(traced(*inputs), module(*inputs))
    called = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert [function.__module__.split(".")[0] for function in called] == ["mluops"]


def test_a_new_shape_words_no_message_and_describes_only_new_tensors(monkeypatch):
    boxes, points = drop_ins.cars()
    ours.roiaware_pool3d(boxes, points, points, 2, 8)
    described = []
    create = mluops._context._create_descriptor
    monkeypatch.setattr(
        mluops._context, "_create_descriptor", lambda *a: described.append(a) or create(*a)
    )
    monkeypatch.setattr(mluops._table.Table, "place", None)
    ours.roiaware_pool3d(boxes, points[:37], points[:37], 2, 8)
    assert len(described) == 1  # points and features have one shape; results are as before


def test_docstring_examples_run():
    for module in pkgutil.iter_modules(ours.__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"mluops.torch.{module.name}")
            functions = [f for f in vars(loaded).values() if getattr(f, "__doc__", None)]
            is_public = any(getattr(ours, f.__name__, None) is f for f in functions if callable(f))
            result = doctest.testmod(loaded)
            assert result.failed == 0 and (result.attempted > 1 or not is_public), module.name
