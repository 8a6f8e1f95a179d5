"""Writes types.json beside it: the element types of NumPy's results. Run it with NumPy 2.4 after adding an operation.

Types have this library's names; null is an operation that NumPy refuses. The tests of Promotion compare ours with them.
"""
import json
import pathlib

import numpy as np

TYPES = {
    "bool": np.bool_, "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32,
    "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64,
}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()} | {np.dtype(np.complex128): "c128"}

UNARY = {
    "negative": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "bitwiseNot": np.invert,
    "logicalNot": np.logical_not, "isNaN": np.isnan, "isFinite": np.isfinite, "isInf": np.isinf,
    "real": np.real, "imag": np.imag, "conj": np.conj, "angle": np.angle,
}
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide,
    "floorDivide": np.floor_divide, "remainder": np.remainder, "power": np.power, "minimum": np.minimum,
    "maximum": np.maximum, "atan2": np.arctan2, "hypot": np.hypot, "bitwiseAnd": np.bitwise_and,
    "bitwiseOr": np.bitwise_or, "bitwiseXor": np.bitwise_xor, "leftShift": np.left_shift,
    "rightShift": np.right_shift, "equal": np.equal, "notEqual": np.not_equal, "less": np.less,
    "lessEqual": np.less_equal, "greater": np.greater, "greaterEqual": np.greater_equal,
    "logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor, "matmul": np.matmul,
    "dot": np.dot, "concatenate": lambda a, b: np.concatenate([a, b]), "where": lambda a, b: np.where([True], a, b),
}
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "variance": np.var, "std": np.std, "min": np.min, "max": np.max,
    "cumsum": np.cumsum, "cumprod": np.cumprod, "any": np.any, "all": np.all,
}


def one(dtype):
    return np.ones(1, dtype=TYPES[dtype])


def result(function, *dtypes):
    try:
        return NAMES[np.asarray(function(*map(one, dtypes))).dtype]
    except TypeError:
        return None


def of_one(functions):
    return {name: {a: result(function, a) for a in TYPES} for name, function in functions.items()}


def of_two(functions):
    # One string of types a row: the second operand's types in the order of "types".
    row = lambda function, a: " ".join(str(result(function, a, b)) for b in TYPES)
    return {name: {a: row(function, a) for a in TYPES} for name, function in functions.items()}


def promoted(a, b):
    return NAMES[np.result_type(TYPES[a], TYPES[b])]


table = {
    "numpy": np.__version__,
    "types": " ".join(TYPES),
    "promotion": {a: " ".join(promoted(a, b) for b in TYPES) for a in TYPES},
    "unary": of_one(UNARY),
    "binary": of_two(BINARY),
    "reductions": of_one(REDUCTIONS),
}
with np.errstate(all="ignore"):
    pathlib.Path(__file__).with_name("types.json").write_text(json.dumps(table, indent=2) + "\n")
