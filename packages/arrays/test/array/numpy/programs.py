"""Writes programs.jsonl beside it: random programs of arrays of every type, and what NumPy 2.4 computes for them.

A line has the inputs and the expected result, as [type, shape, bytes in hexadecimal], the tree of operations, and the types of all
arrays in it. A tree is the place of an input, or a list of an operation's name and its operands; texts and objects in it are options,
and {"value": n} is the number n. The last programs are sums of segments.
NumPy computes in the types of this library: where NumPy would go to 64 bits although no operand has them, operands are cast to 32
before; c64 is the only complex type. Floats are multiples of 1/4, so that every operation but division rounds in one way only, and
division is only the last one, as are functions of complex numbers; sums and products of those are exact. Casts of floats to integers
are in range. Run it with: python3 programs.py
"""
import json
import pathlib
import random

import numpy as np

SEED = 20260728
COUNT = 660
SEGMENTS = 60
TYPES = {
    "bool": np.bool_, "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32,
    "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64,
}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()} | {np.dtype(np.complex128): "c64"}
SHAPES = [(2, 3), (2, 3), (3,), (2, 1), ()]

of = random.Random(SEED)


def bits(name):
    return 8 * np.dtype(TYPES[name]).itemsize


def kind(name):
    return "b" if name == "bool" else name[0]


def promote(*names):
    result = names[0]
    for name in names[1:]:
        theirs = NAMES[np.result_type(TYPES[result], TYPES[name])]
        wide = theirs != "c64" and bits(theirs) == 64 and bits(result) < 64 and bits(name) < 64
        result = theirs[0] + "32" if wide else theirs
    return result


def summed(name):
    return name if kind(name) in "fc" or bits(name) >= 32 else "u32" if kind(name) == "u" else "i32"


def floating(name):
    return name if kind(name) in "fc" else "f64" if bits(name) == 64 else "f32"


def name_of(x):
    return NAMES[x.dtype]


def cast(x, name):
    return np.asarray(x).astype(TYPES[name])


def anything(name):
    shape = of.choice(SHAPES)
    size = int(np.prod(shape))
    if name == "bool":
        values = [of.random() < 0.5 for _ in range(size)]
    elif kind(name) == "c":
        values = [complex(of.randint(-32, 32) / 4, of.choice([0, of.randint(-32, 32) / 4])) for _ in range(size)]
    elif kind(name) == "f":
        values = [of.randint(-32, 32) / 4 for _ in range(size)]
    else:
        info = np.iinfo(TYPES[name])
        edges = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, info.max // 2 + 1]
        values = [of.choice([of.choice(edges), of.randint(info.min, info.max), of.randint(0, 9)]) for _ in range(size)]
    return np.array(values, dtype=TYPES[name]).reshape(shape)


def arithmetic(function):
    def compute(x, y):
        type = promote(name_of(x), name_of(y))
        return function(cast(x, type), cast(y, type))
    return compute


def comparison(function):
    # NumPy compares integers exactly; an integer beside a float is cast to the common type.
    def compute(x, y):
        if set("fc") & {kind(name_of(x)), kind(name_of(y))}:
            type = promote(name_of(x), name_of(y))
            return function(cast(x, type), cast(y, type))
        return function(x, y)
    return compute


def numbers(x):
    return name_of(x) != "bool"


def whole(x):
    return kind(name_of(x)) in "iu"


def has_bits(x):
    return kind(name_of(x)) in "biu"


def ordered(*arrays):
    return all(kind(name_of(x)) != "c" for x in arrays)


def exact(function):
    """Whether it gives the same with parts of 64 bits, where it is of complex numbers."""
    def takes(x, y):
        if promote(name_of(x), name_of(y)) != "c64":
            return True
        narrow, wide = [[cast(cast(z, "c64"), "c64").astype(t) for z in (x, y)] for t in (np.complex64, np.complex128)]
        return bool(np.all(function(*narrow) == function(*wide)))
    return takes


def both(test):
    return lambda x, y: test(x) and test(y)


def not_truths(x, y):
    return numbers(x) or numbers(y)


def wholes(x, y):
    return whole(x) and whole(y) and kind(promote(name_of(x), name_of(y))) != "f"


anyone = lambda *arrays: True
BINARY = {
    "add": (arithmetic(np.add), exact(np.add)), "multiply": (arithmetic(np.multiply), exact(np.multiply)),
    "subtract": (arithmetic(np.subtract), lambda x, y: not_truths(x, y) and exact(np.subtract)(x, y)),
    "minimum": (arithmetic(np.minimum), ordered), "maximum": (arithmetic(np.maximum), ordered),
    "floorDivide": (arithmetic(np.floor_divide), wholes), "remainder": (arithmetic(np.remainder), wholes),
    "bitwiseAnd": (arithmetic(np.bitwise_and), lambda x, y: has_bits(x) and has_bits(y) and kind(promote(name_of(x), name_of(y))) != "f"),
    "bitwiseOr": (arithmetic(np.bitwise_or), lambda x, y: has_bits(x) and has_bits(y) and kind(promote(name_of(x), name_of(y))) != "f"),
    "bitwiseXor": (arithmetic(np.bitwise_xor), lambda x, y: has_bits(x) and has_bits(y) and kind(promote(name_of(x), name_of(y))) != "f"),
    "equal": (comparison(np.equal), anyone), "notEqual": (comparison(np.not_equal), anyone),
    "less": (comparison(np.less), ordered), "lessEqual": (comparison(np.less_equal), ordered),
    "greater": (comparison(np.greater), ordered), "greaterEqual": (comparison(np.greater_equal), ordered),
    "logicalAnd": (np.logical_and, anyone), "logicalOr": (np.logical_or, anyone), "logicalXor": (np.logical_xor, anyone),
}
UNARY = {
    "negative": (np.negative, numbers), "abs": (np.abs, ordered),
    "sign": (np.sign, lambda x: numbers(x) and ordered(x)),
    "square": (np.square, lambda x: numbers(x) and exact(np.multiply)(x, x)), "bitwiseNot": (np.invert, has_bits),
    "logicalNot": (np.logical_not, anyone), "isNaN": (np.isnan, anyone), "isInf": (np.isinf, anyone),
    "floor": (np.floor, ordered), "ceil": (np.ceil, ordered), "real": (np.real, anyone), "imag": (np.imag, anyone),
    "conj": (np.conj, numbers),
}
# Of complex numbers, as the last operation.
COMPLEX = {
    "abs": np.abs, "angle": np.angle, "sign": np.sign, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "reciprocal": np.reciprocal,
    "power": np.power, "divide": np.divide, "variance": np.var, "std": np.std,
}
# Of arrays, along an axis, which stays with length 1.
REDUCTIONS = {
    "sum": lambda x, axis, dtype: np.sum(cast(x, dtype), axis=axis, keepdims=True, dtype=TYPES[dtype]),
    "prod": lambda x, axis, dtype: np.prod(cast(x, dtype), axis=axis, keepdims=True, dtype=TYPES[dtype]),
}
OWN_REDUCTIONS = {
    "min": np.min, "max": np.max, "any": np.any, "all": np.all,
}


class Program:
    def __init__(self):
        self.inputs = []
        self.types = set()

    def input(self):
        x = anything(of.choice(list(TYPES)))
        self.inputs.append(x)
        return len(self.inputs) - 1, x

    def node(self, depth):
        tree, x = self.input() if depth == 0 else self.operation(depth)
        self.types.add(name_of(x))
        return tree, x

    def operation(self, depth):
        while True:
            choice = of.random()
            if choice < 0.55:
                a, x = self.node(depth - 1)
                b, y = self.node(of.randint(0, depth - 1))
                fitting = [name for name, (_, takes) in BINARY.items() if takes(x, y)]
                name = of.choice(fitting)
                self.types.add(promote(name_of(x), name_of(y)))
                return [name, a, b], np.asarray(BINARY[name][0](x, y))
            a, x = self.node(depth - 1)
            if choice < 0.7:
                fitting = [name for name, (_, takes) in UNARY.items() if takes(x)]
                name = of.choice(fitting)
                return [name, a], np.asarray(UNARY[name][0](x))
            if choice < 0.8:
                name = of.choice(list(TYPES))
                if castable(x, name):
                    return ["astype", a, name], cast(x, name)
            elif choice < 0.88 and x.ndim > 0 and kind(name_of(x)) != "f":
                name = of.choice(list(REDUCTIONS))
                if kind(name_of(x)) == "c":
                    narrow, wide = (getattr(np, name)(x.astype(t), axis=-1) for t in (np.complex64, np.complex128))
                    if not np.all(narrow == wide):
                        continue
                options = {"axis": x.ndim - 1, "keepDims": True}
                dtype = summed(name_of(x))
                if of.random() < 0.4 and kind(name_of(x)) != "c":
                    dtype = of.choice(["i64", "u64", "u32", "u8"])
                    options["dtype"] = dtype
                self.types.add(dtype)
                return [name, a, options], np.asarray(REDUCTIONS[name](x, x.ndim - 1, dtype))
            elif choice < 0.93 and x.ndim > 0:
                name = of.choice(list(OWN_REDUCTIONS) if ordered(x) else ["any", "all"])
                options = {"axis": x.ndim - 1, "keepDims": True}
                return [name, a, options], np.asarray(OWN_REDUCTIONS[name](x, axis=x.ndim - 1, keepdims=True))
            elif choice < 0.96 and x.ndim > 0 and kind(name_of(x)) not in "fc":
                dtype = summed(name_of(x))
                self.types.add(dtype)
                return ["cumsum", a, {"axis": x.ndim - 1}], np.cumsum(cast(x, dtype), axis=x.ndim - 1, dtype=TYPES[dtype])
            elif choice >= 0.96:
                b, y = self.node(0)
                c, z = self.node(0)
                type = promote(name_of(y), name_of(z))
                self.types.add(type)
                return ["where", a, b, c], np.asarray(np.where(x.astype(bool), cast(y, type), cast(z, type)))

    def last(self):
        """The operation whose result is compared; divisions and means round in their own way."""
        choice = of.random()
        if choice >= 0.9:
            names = [name for name in COMPLEX if choice < 0.98 or name not in ("power", "divide")]
            name = of.choice(names)
            arrays = [anything_small() for _ in range(2 if name in ("power", "divide") else 1)]
            # Without the inputs of a tree that was given up.
            self.inputs = arrays
            self.types = {"c64"}
            result = COMPLEX[name](*(x.astype(np.complex128) for x in arrays))
            narrow = "c64" if np.iscomplexobj(result) else "f32"
            return [name, *range(len(arrays))], cast(result, narrow)
        if choice < 0.12:
            a, x = self.node(1)
            b, y = self.node(0)
            type = floating(promote(name_of(x), name_of(y)))
            self.types.add(type)
            quotient = np.divide(cast(x, type), cast(y, type))
            # Of 0 by 0 a compiler of WGSL may make 0, where it sees the dividend.
            return self.last() if np.any(np.isnan(quotient)) else (["divide", a, b], quotient)
        if choice < 0.17:
            a, x = self.input()
            self.types.add(name_of(x))
            type = floating(name_of(x))
            self.types.add(type)
            wide = np.complex128 if type == "c64" else np.float64
            return ["mean", a], np.asarray(np.mean(x.astype(wide))).astype(TYPES[type])
        if choice < 0.22:
            names = [of.choice(list(TYPES)), of.choice(list(TYPES))]
            type = promote(*names)
            arrays = [anything_of(names[0], (2, 3)), anything_of(names[1], (3, 2))]
            if kind(type) in "fc" and not all(np.all(np.abs(x.astype(complex)) < 64) for x in arrays):
                return self.last()
            self.inputs += arrays
            self.types.update([*names, type])
            return ["matmul", len(self.inputs) - 2, len(self.inputs) - 1], np.matmul(*(cast(x, type) for x in arrays))
        return self.node(of.randint(1, 3))

    def labels(self, length, count):
        """Numbers of segments, one in four of which is that of none; some are computed."""
        name = of.choice(["i32", "u32"])
        lowest = 0 if name == "u32" else -2
        x = np.array([of.randint(lowest, count + 1) for _ in range(length)], dtype=TYPES[name])
        self.types.add(name)
        self.inputs.append(x)
        place = len(self.inputs) - 1
        if of.random() < 0.5:
            return place, x
        y = np.array([of.randint(0, 1) for _ in range(length)], dtype=TYPES[name])
        self.inputs.append(y)
        return ["add", place, place + 1], x + y

    def segments(self):
        count = of.choice([0, 1, 2, 3, 3, 4, 4])
        if of.random() < 0.3:
            tree, x = self.labels(of.randint(1, 12), count)
            self.types.add("u32")
            inside = x[(x >= 0) & (x < count)]
            return ["bincount", tree, {"value": count}], cast(np.bincount(inside, minlength=count), "u32")
        while True:
            # Without the inputs of a tree that was given up.
            self.inputs, self.types = [], set()
            a, x = self.node(of.randint(0, 2))
            # Floats of operations may be so large or small that their sums are rounded, or no numbers.
            if x.ndim > 0 and (isinstance(a, int) or kind(name_of(x)) not in "fc"):
                break
        axis = of.randint(0, x.ndim - 1)
        labels, numbers = self.labels(x.shape[axis], count)
        options = {"axis": axis}
        dtype = summed(name_of(x))
        if of.random() < 0.4 and kind(name_of(x)) not in "fc":
            dtype = of.choice(["i64", "u64", "u32", "u8"])
            options["dtype"] = dtype
        self.types.add(dtype)
        sums = np.zeros(x.shape[:axis] + (count,) + x.shape[axis + 1:], dtype=TYPES[dtype])
        inside = (numbers >= 0) & (numbers < count)
        rows = np.moveaxis(cast(x, dtype), axis, 0)
        np.add.at(np.moveaxis(sums, axis, 0), numbers[inside], rows[inside])
        return ["segmentSum", a, labels, {"value": count}, options], sums


def anything_of(name, shape):
    while True:
        x = anything(name)
        if x.shape == (2, 3):
            return x.reshape(shape)


def anything_small():
    """Complex numbers near 0, where functions are neither huge nor near a pole."""
    while True:
        x = cast(anything("c64") / 8, "c64")
        if np.all(np.abs(x) > 0.1):
            return x


def castable(x, name):
    if kind(name_of(x)) == "c":
        # NumPy tests both parts for a truth value, and takes the real part for a number.
        return name == "c64" or name == "bool" or castable(np.real(x), name)
    if name == "c64":
        return bool(np.all(np.abs(x.astype(float)) <= 2048))
    if kind(name_of(x)) == "f":
        if kind(name) in "iu":
            info = np.iinfo(TYPES[name])
            return bool(np.all(np.isfinite(x)) and np.all(x >= max(info.min, -2**52)) and np.all(x <= min(info.max, 2**52)))
        return name == "bool" or bits(name) >= bits(name_of(x))
    return name != "f16" or bool(np.all(np.abs(x.astype(float)) <= 2048))


def written(x):
    return [name_of(x), list(x.shape), np.ascontiguousarray(x).tobytes().hex()]


lines = []
with np.errstate(all="ignore"):
    while len(lines) < COUNT + SEGMENTS:
        program = Program()
        tree, result = program.last() if len(lines) < COUNT else program.segments()
        program.types.add(name_of(result))
        lines.append(json.dumps({
            "inputs": [written(x) for x in program.inputs],
            "tree": tree,
            "types": sorted(program.types),
            "expected": written(result),
        }, separators=(",", ":")))
path = pathlib.Path(__file__).with_name("programs.jsonl")
path.write_text("\n".join(lines) + "\n")
