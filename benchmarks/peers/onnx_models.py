"""Models of one operator each for ONNX Runtime: the standard Attention, and com.microsoft's MultiHeadAttention."""
import pathlib

try:
    from onnx import TensorProto, helper
except ImportError:
    helper = None

# Attention came with opset 23 of ONNX, which wants the tenth form of the model file.
OPSET, IR_VERSION = 23, 10


def write_model(path, operator, domain, attributes, inputs, output):
    """inputs: shapes by name; output: its shape."""
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))

    node = helper.make_node(operator, list(inputs), ["output"], domain=domain, **attributes)
    graph = helper.make_graph([node], operator, [value(*item) for item in inputs.items()], [value("output", output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET),
                                                    helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = IR_VERSION
    pathlib.Path(path).write_bytes(model.SerializeToString())


def describe(variant, file, inputs, files, output):
    return {"variant": variant, "file": file, "output": {"shape": list(output)},
            "inputs": {name: {"shape": list(shape), "file": files[name]} for name, shape in inputs.items()}}


def write_models(case, inputs, folder):
    """Writes the models of a case, and its inputs in the order that MultiHeadAttention wants; tells what there is."""
    if helper is None or case.kind != "scaled_dot_product":
        return []
    folder, heads = pathlib.Path(folder), case.sizes["H"]
    shapes = {name: array.shape for name, array in inputs.items()}
    write_model(folder / "attention.onnx", "Attention", "", {"is_causal": int(case.is_causal)}, shapes,
                shapes["query"])
    joined = {}
    for name, array in inputs.items():
        rows = array.transpose(0, 2, 1, 3)
        joined[name] = rows.shape[:2] + (rows.shape[2] * rows.shape[3],)
        rows.tofile(folder / f"{name}.joined.f32")
    write_model(folder / "multi_head_attention.onnx", "MultiHeadAttention", "com.microsoft",
                {"num_heads": heads, "unidirectional": int(case.is_causal)}, joined, joined["query"])
    return [describe("Attention", "attention.onnx", shapes, {name: f"{name}.f32" for name in shapes},
                     shapes["query"]),
            describe("MultiHeadAttention", "multi_head_attention.onnx", joined,
                     {name: f"{name}.joined.f32" for name in joined}, joined["query"])]
