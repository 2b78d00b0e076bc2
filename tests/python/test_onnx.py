# SPDX-License-Identifier: Apache-2.0
"""Exported graphs have a node per operator, and compute the same in onnx's ReferenceEvaluator."""

import io
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

import drop_ins
import mluops.onnx
import mluops.torch as ours
from onnx.reference.op_run import OpRun

MODELS = drop_ins.module_calls()


def evaluator_of(node):
    """An operator of the ReferenceEvaluator that calls ours."""
    operator = getattr(torch.ops.mluops, node.operator)
    names = [argument.name for argument in operator.default._schema.arguments]

    def _run(self, *tensors, **attributes):
        if "mask_size" in attributes:
            attributes["h_mask"], attributes["w_mask"] = attributes.pop("mask_size")
        given = {name: None for name in node.inputs}
        given.update(dilation=[1, 1], groups=1)  # mmcv's nodes have none
        for name, tensor in zip(node.inputs, tensors):
            given[name] = None if tensor is None else torch.from_numpy(tensor.copy())
        for name, value in attributes.items():
            given[name] = [int(v) for v in value] if hasattr(value, "__len__") else value
        result = operator(*(given[name] for name in names))
        return ((result[0] if isinstance(result, tuple) else result).numpy(),)

    members = {"op_domain": node.domain, "_run": _run}
    return type(node.name, (OpRun,), members)


def declared(value):
    """Returns the element type and the shape of an output, None where the graph has none."""
    tensor = value.type.tensor_type
    sizes = [dim.dim_value for dim in tensor.shape.dim]
    return tensor.elem_type, sizes if tensor.HasField("shape") and 0 not in sizes else None


def check(proto, name, names="mluops", has_shapes=False):
    model, inputs, _ = MODELS[name]
    nodes = mluops.onnx.nodes(names)
    found = [(n.domain, n.op_type) for n in proto.graph.node if n.domain in ("mluops", "mmcv")]
    wanted = {node.operator: (node.domain, node.name) for node in nodes}
    assert found == [wanted[name.partition(" ")[0]]]
    session = reference.ReferenceEvaluator(proto, new_ops=[evaluator_of(node) for node in nodes])
    feeds = {i.name: x.numpy() for i, x in zip(proto.graph.input, inputs)}
    (result,) = session.run(None, feeds)
    (output,) = proto.graph.output
    kind, shape = declared(output)
    assert kind == onnx.helper.np_dtype_to_tensor_dtype(result.dtype)
    assert shape == list(result.shape) or (shape is None and not has_shapes)
    torch.testing.assert_close(
        torch.from_numpy(result), model(*inputs).detach(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", sorted(MODELS))
def test_dynamo_export(name):
    pytest.importorskip("onnxscript")
    model, inputs, _ = MODELS[name]
    program = mluops.onnx.export(model.eval(), inputs, verbose=False)
    check(program.model_proto, name, has_shapes=True)


def mmcv_models():
    """The calls of operators for which mmcv has a node."""
    theirs = {node.operator for node in mluops.onnx.nodes("mmcv") if node.domain == "mmcv"}
    return [name for name in sorted(MODELS) if name.partition(" ")[0] in theirs]


@pytest.mark.parametrize("name", mmcv_models())
def test_dynamo_export_with_the_names_of_mmcv(name):
    pytest.importorskip("onnxscript")
    model, inputs, _ = MODELS[name]
    check(mluops.onnx.export(model, inputs, names="mmcv", verbose=False).model_proto, name, "mmcv")


def export_old(model, inputs, names):
    """Exports with torch's older exporter."""
    mluops.onnx.register(names)
    file, options = io.BytesIO(), {"opset_version": 13, "custom_opsets": {"mluops": 1, "mmcv": 1}}
    if "dynamo" in torch.onnx.export.__code__.co_varnames:
        options["dynamo"] = False
    torch.onnx.export(model, inputs, file, **options)
    return onnx.load_model_from_string(file.getvalue())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_export_of_the_older_exporter(name):
    check(export_old(*MODELS[name][:2], "mluops"), name)


@pytest.mark.parametrize("name", mmcv_models())
def test_export_of_the_older_exporter_with_the_names_of_mmcv(name):
    check(export_old(*MODELS[name][:2], "mmcv"), name, "mmcv")


@pytest.mark.parametrize("options", [{"dilation": 2}, {"groups": 3}], ids=str)
def test_convolutions_that_the_node_of_mmcv_cannot_express_raise(options):
    module, features = torch.nn.Conv2d(3, 3, 3, padding=1, **options), torch.zeros(1, 3, 8, 8)
    convolution = ours.MaskedConv2d(3, 3, 3, padding=1, **options)
    mask = torch.ones(1, *module(features).shape[2:])
    with pytest.raises(Exception, match="MMCVMaskedConv2d must have dilation 1 and groups 1"):
        export_old(convolution, (features, mask), "mmcv")


def test_command_lists_the_nodes():
    result = subprocess.run(
        [sys.executable, "-m", "mluops.onnx"], capture_output=True, text=True, check=True
    )
    listed = result.stdout.splitlines()
    for line in (
        "mluops::PsaMask(input) <psa_type: i, h_mask: i, w_mask: i>  psa_mask",
        "mmcv::MMCVPSAMask(input) <psa_type: i, mask_size: is>  psa_mask",
        "mmcv::MMCVMaskedConv2d(features, mask, weight, bias) <padding: is, stride: is>  "
        "masked_conv2d",
    ):
        assert line in listed


def test_unknown_names_raise():
    with pytest.raises(ValueError, match="names must be"):
        mluops.onnx.nodes("torchvision")
