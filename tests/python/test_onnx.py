# SPDX-License-Identifier: Apache-2.0
"""Exported graphs have a node per operator, and compute the same in onnx's ReferenceEvaluator."""

import io
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

import mluops.onnx
import mluops.torch as ours
from drop_ins import cars, randn
from onnx.reference.op_run import OpRun

BOXES = torch.tensor([[[0.0, 1, 4, 5], [2, 0, 3, 4]]])
ROIS = torch.tensor([[0.0, 0, 1, 4, 5], [0, 2, 2, 6, 4]])
CARS, POINTS = cars()
MODELS = {
    "BorderAlign": (ours.BorderAlign(3), (randn(1, 8, 6, 7), BOXES)),
    "PsaMask": (ours.PSAMask("distribute", (3, 5)), (randn(2, 15, 4, 6),)),
    "PsRoiPool": (ours.PSRoIPool((2, 3), 0.5), (randn(1, 12, 6, 7), ROIS)),
    "RfcnPsRoiPool": (ours.PSRoIPool(2, 0.5, semantics="rfcn"), (randn(1, 8, 6, 7), ROIS)),
    "RoiawarePool3d": (ours.RoIAwarePool3d((2, 3, 1), 8, "avg"), (CARS, POINTS, randn(60, 3))),
    "MaskedConv2d": (
        ours.MaskedConv2d(3, 4, 3, padding=1),
        (randn(1, 3, 6, 5), (randn(1, 6, 5) > 0).float()),
    ),
    "MaskedConv2d without bias": (
        ours.MaskedConv2d(3, 4, 3, padding=1, bias=False),
        (randn(1, 3, 6, 5), (randn(1, 6, 5) > 0).float()),
    ),
}


def evaluator_of(node):
    """An operator of the ReferenceEvaluator that calls ours."""
    operator = getattr(torch.ops.mluops, node.operator)
    names = [argument.name for argument in operator.default._schema.arguments]

    def _run(self, *tensors, **attributes):
        if "mask_size" in attributes:
            attributes["h_mask"], attributes["w_mask"] = attributes.pop("mask_size")
        given = {name: None for name in node.inputs}
        for name, tensor in zip(node.inputs, tensors):
            given[name] = None if tensor is None else torch.from_numpy(tensor.copy())
        for name, value in attributes.items():
            given[name] = [int(v) for v in value] if hasattr(value, "__len__") else value
        result = operator(*(given[name] for name in names))
        return ((result[0] if isinstance(result, tuple) else result).numpy(),)

    members = {"op_domain": node.domain, "_run": _run}
    return type(node.name, (OpRun,), members)


def check(proto, name, names="mluops"):
    model, inputs = MODELS[name]
    nodes = mluops.onnx.nodes(names)
    found = [node.op_type for node in proto.graph.node if node.domain in ("mluops", "mmcv")]
    wanted = {node.operator: node.name for node in nodes}
    node_name = name.partition(" ")[0]
    operator = next(node.operator for node in mluops.onnx.nodes() if node.name == node_name)
    assert found == [wanted[operator]]
    session = reference.ReferenceEvaluator(proto, new_ops=[evaluator_of(node) for node in nodes])
    feeds = {i.name: x.numpy() for i, x in zip(proto.graph.input, inputs)}
    (result,) = session.run(None, feeds)
    torch.testing.assert_close(
        torch.from_numpy(result), model(*inputs).detach(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", sorted(MODELS))
def test_dynamo_export(name):
    pytest.importorskip("onnxscript")
    model, inputs = MODELS[name]
    program = mluops.onnx.export(model.eval(), inputs, verbose=False)
    check(program.model_proto, name)


@pytest.mark.parametrize("name", ["BorderAlign", "PsaMask"])
def test_export_with_the_names_of_mmcv(name):
    pytest.importorskip("onnxscript")
    model, inputs = MODELS[name]
    check(mluops.onnx.export(model, inputs, names="mmcv", verbose=False).model_proto, name, "mmcv")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_export_of_the_older_exporter(name):
    mluops.onnx.register()
    model, inputs = MODELS[name]
    file, options = io.BytesIO(), {"opset_version": 13, "custom_opsets": {"mluops": 1}}
    if "dynamo" in torch.onnx.export.__code__.co_varnames:
        options["dynamo"] = False
    torch.onnx.export(model, inputs, file, **options)
    check(onnx.load_model_from_string(file.getvalue()), name)


def test_command_lists_the_nodes():
    result = subprocess.run(
        [sys.executable, "-m", "mluops.onnx"], capture_output=True, text=True, check=True
    )
    assert "mluops::BorderAlign(input, boxes) <pool_size: i>  border_align" in result.stdout
    assert "mmcv::MMCVPSAMask(input) <psa_type: i, mask_size: is>  psa_mask" in result.stdout


def test_unknown_names_raise():
    with pytest.raises(ValueError, match="names must be"):
        mluops.onnx.nodes("torchvision")
