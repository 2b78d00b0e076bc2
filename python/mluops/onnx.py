# SPDX-License-Identifier: Apache-2.0
"""Export to ONNX: each operator becomes one node of domain `mluops`, or of mmcv's domain.

    mluops.onnx.export(model, inputs, "model.onnx")               # torch.onnx.export with dynamo
    torch.onnx.export(..., custom_translation_table=mluops.onnx.translation_table())
    mluops.onnx.register()                                        # for the older exporter

A node has the operator's tensors as inputs and its other arguments as attributes of the same names.
Its only output is the operator's first. `names="mmcv"` gives nodes of mmcv's names where mmcv has
one, with mmcv's attributes; it raises for a call that such a node cannot express. The dynamo
exporter needs onnx and onnxscript. `python -m mluops.onnx` lists the nodes.
"""

from __future__ import annotations

import argparse
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch

from . import torch as _operators  # noqa: F401  (registers torch.ops.mluops)


class Node(NamedTuple):
    """The ONNX node of an operator."""

    operator: str  # the name under torch.ops.mluops
    domain: str
    name: str
    inputs: Tuple[str, ...]
    attributes: Tuple[Tuple[str, str], ...]  # name and ONNX type: i, is or f

    def values(self, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Returns the attributes of a call, by name."""
        if self.name == "MMCVPSAMask":  # mmcv has one attribute for the size
            size = [arguments["h_mask"], arguments["w_mask"]]
            return {"psa_type": arguments["psa_type"], "mask_size": size}
        if self.name == "MMCVMaskedConv2d":
            _require_mmcv_convolution(arguments)
        return {name: arguments[name] for name, _ in self.attributes}


def _require_mmcv_convolution(arguments: Dict[str, Any]) -> None:
    """Raises for a call that mmcv's node cannot express: it has no dilation and no groups."""
    dilation, groups = list(arguments["dilation"]), arguments["groups"]
    if dilation != [1, 1] or groups != 1:
        raise ValueError(
            "mluops.onnx: mmcv::MMCVMaskedConv2d must have dilation 1 and groups 1, got dilation "
            f"{dilation} and groups {groups}"
        )


_NAMES = {
    "border_align": "BorderAlign",
    "masked_col2im": "MaskedCol2im",
    "masked_conv2d": "MaskedConv2d",
    "masked_im2col": "MaskedIm2col",
    "ps_roi_pool": "PsRoiPool",
    "psa_mask": "PsaMask",
    "rfcn_ps_roi_pool": "RfcnPsRoiPool",
    "roiaware_pool3d": "RoiawarePool3d",
}
_MMCV_NAMES = {
    "border_align": "MMCVBorderAlign",
    "masked_conv2d": "MMCVMaskedConv2d",
    "psa_mask": "MMCVPSAMask",
}
# The attributes of mmcv's nodes that differ from ours.
_MMCV_ATTRIBUTES = {
    "MMCVMaskedConv2d": (("padding", "is"), ("stride", "is")),
    "MMCVPSAMask": (("psa_type", "i"), ("mask_size", "is")),
}
_TYPES = {"int": "i", "SymInt": "i", "List[int]": "is", "float": "f"}


def _schema(operator: str) -> Any:
    return getattr(torch.ops.mluops, operator).default._schema


def _node(operator: str, domain: str, name: str) -> Node:
    arguments = _schema(operator).arguments
    inputs = tuple(a.name for a in arguments if str(a.type) in ("Tensor", "Optional[Tensor]"))
    attributes = tuple((a.name, _TYPES[str(a.type)]) for a in arguments if a.name not in inputs)
    return Node(operator, domain, name, inputs, _MMCV_ATTRIBUTES.get(name, attributes))


def nodes(names: str = "mluops") -> List[Node]:
    """Returns the nodes of all operators. names "mmcv": mmcv's nodes where it has one."""
    if names not in ("mluops", "mmcv"):
        raise ValueError(f'mluops.onnx: names must be "mluops" or "mmcv", got {names!r}')
    theirs = _MMCV_NAMES if names == "mmcv" else {}
    return [
        _node(operator, "mmcv" if operator in theirs else "mluops", theirs.get(operator, name))
        for operator, name in _NAMES.items()
    ]


def _option(node: Node, name: str) -> Any:
    from onnx.defs import OpSchema

    options = OpSchema.FormalParameterOption
    types = {a.name: str(a.type) for a in _schema(node.operator).arguments}
    return options.Optional if types[name].startswith("Optional") else options.Single


def _onnx_operator(node: Node) -> Callable[..., Any]:
    from onnx.defs import OpSchema
    from onnxscript import values

    kinds = {"i": OpSchema.AttrType.INT, "is": OpSchema.AttrType.INTS, "f": OpSchema.AttrType.FLOAT}
    floats = ["tensor(float16)", "tensor(bfloat16)", "tensor(float)", "tensor(double)"]
    types = [*floats, "tensor(int32)", "tensor(int64)", "tensor(uint8)", "tensor(bool)"]
    schema = OpSchema(
        node.name,
        node.domain,
        1,
        # Boxes and indices may have other types than the features.
        inputs=[
            OpSchema.FormalParameter(name, f"T{i}", param_option=_option(node, name))
            for i, name in enumerate(node.inputs)
        ],
        outputs=[OpSchema.FormalParameter("output", "T")],
        type_constraints=[
            ("T", floats, ""),
            *((f"T{i}", types, "") for i in range(len(node.inputs))),
        ],
        attributes=[OpSchema.Attribute(name, kinds[kind], "") for name, kind in node.attributes],
    )
    return values.Op(values.Opset(node.domain, 1), node.name, schema)


def _translate(node: Node) -> Callable[..., Any]:
    from onnxscript import ir

    operator, schema = _onnx_operator(node), _schema(node.operator)
    names, outputs = [a.name for a in schema.arguments], len(schema.returns)
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}

    def translate(*arguments: Any, **keywords: Any) -> Any:
        given = {**defaults, **dict(zip(names, arguments)), **keywords}
        result = operator(*(given[name] for name in node.inputs), **node.values(given))
        # The exporter writes the types of all outputs. The others have no consumer.
        return result if outputs == 1 else (result, *(ir.Value() for _ in range(outputs - 1)))

    return translate


def translation_table(names: str = "mluops") -> Dict[Callable[..., Any], Callable[..., Any]]:
    """Returns the `custom_translation_table` of torch.onnx.export(dynamo=True)."""
    return {
        getattr(torch.ops.mluops, node.operator).default: _translate(node) for node in nodes(names)
    }


def _symbolic(node: Node) -> Callable[..., Any]:
    from torch.onnx.symbolic_helper import _parse_arg  # parse_args wants named parameters

    schema = _schema(node.operator)
    names, outputs = [a.name for a in schema.arguments], len(schema.returns)
    kinds = [_TYPES.get(str(argument.type), "v") for argument in schema.arguments]

    def symbolic(g: Any, *arguments: Any) -> Any:
        parsed = (_parse_arg(value, kind) for value, kind in zip(arguments, kinds))
        given = dict(zip(names, parsed))
        values = {
            f"{name}_{'f' if isinstance(value, float) else 'i'}": value
            for name, value in node.values(given).items()
        }
        tensors = [given[name] for name in node.inputs]
        if tensors[-1].node().mustBeNone():  # an absent bias
            tensors.pop()
        result = g.op(f"{node.domain}::{node.name}", *tensors, **values)
        return result if outputs == 1 else (result,) * outputs

    return symbolic


def register(names: str = "mluops", opset_version: int = 11) -> None:
    """Registers the nodes for torch.onnx.export(dynamo=False), from an opset version on. Pass
    `custom_opsets={"mluops": 1}` to the export."""
    for node in nodes(names):
        torch.onnx.register_custom_op_symbolic(
            f"mluops::{node.operator}", _symbolic(node), opset_version
        )


def export(model: Any, args: Any, file: Any = None, names: str = "mluops", **options: Any) -> Any:
    """torch.onnx.export with dynamo and the nodes of this module."""
    table = translation_table(names)
    return torch.onnx.export(
        model, args, file, dynamo=True, custom_translation_table=table, **options
    )


def main() -> None:
    argparse.ArgumentParser(
        "python -m mluops.onnx", description="Lists the nodes, and mmcv's."
    ).parse_args()
    for node in [*nodes(), *(node for node in nodes("mmcv") if node.domain == "mmcv")]:
        attributes = ", ".join(f"{name}: {kind}" for name, kind in node.attributes)
        inputs = ", ".join(node.inputs)
        print(f"{node.domain}::{node.name}({inputs}) <{attributes}>  {node.operator}")


if __name__ == "__main__":
    main()
