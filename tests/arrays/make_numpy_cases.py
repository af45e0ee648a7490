#!/usr/bin/env python3
"""Writes numpy_cases.txt: what NumPy 2 computes of chosen and of random numbers.

A case: `case TYPE TYPE`, the operands `a ...` and `b ...` (8 numbers, seen as 2 x 4 by
reductions), a line `FUNCTION TYPE ...` with each result, `end`.

    python3 make_numpy_cases.py > numpy_cases.txt
"""
import warnings
import numpy as np

NAMES = {
    "boolean": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}
OF_TYPE = {np.dtype(t): n for n, t in NAMES.items()}
PAIRS = [(n, n) for n in NAMES] + [
    ("i8", "u8"), ("i32", "u32"), ("i64", "u64"), ("u16", "i8"), ("boolean", "i32"),
    ("f32", "i32"), ("f32", "i16"), ("f16", "f32"), ("f64", "f32"), ("c64", "f64"),
    ("i64", "f32"), ("c128", "i8"),
]
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "maximum": np.maximum,
    "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "atan2": np.arctan2, "hypot": np.hypot,
    "copysign": np.copysign, "fmod": np.fmod,
}
UNARY = {
    "negative": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "expm1": np.expm1,
    "log1p": np.log1p, "atan": np.arctan, "sinh": np.sinh, "isnan": np.isnan,
    "logical_not": np.logical_not, "invert": np.invert, "conj": np.conj,
}
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean,
    "argmin": np.argmin, "argmax": np.argmax, "any": np.any, "all": np.all, "var": np.var,
}


def numbers(rng, dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, 8).astype(dtype)
    if kind in "iu":
        info = np.iinfo(dtype)
        chosen = [0, 1, 2, info.max, info.min, info.max // 3, 7, info.max - 5]
        return np.array([chosen[i] for i in rng.permutation(8)], dtype)
    if kind == "f":
        chosen = [0.0, 1.0, -2.5, np.nan, np.inf, -0.0, 3.25, -7.0]
        values = [chosen[i] for i in rng.permutation(8)]
        return np.array([v if rng.random() < 0.7 else rng.uniform(-3, 3) for v in values], dtype)
    return (rng.uniform(-3, 3, 8) + 1j * rng.uniform(-3, 3, 8)).astype(dtype)


def text(values):
    flat = np.asarray(values).ravel()
    if flat.dtype.kind == "b":
        return " ".join(str(int(v)) for v in flat)
    if flat.dtype.kind in "iu":
        return " ".join(str(v) for v in flat)
    if flat.dtype.kind == "c":
        return " ".join(f"{float(v.real)!r} {float(v.imag)!r}" for v in flat)
    return " ".join(repr(float(v)) for v in flat)


def print_result(name, function, *operands, **options):
    try:
        result = np.asarray(function(*operands, **options))
    except TypeError:
        return
    print(name, OF_TYPE[result.dtype], text(result))


OF_COMPLEX = {"add", "subtract", "multiply", "divide", "equal", "not_equal", "negative", "abs",
              "square", "sqrt", "exp", "log", "sin", "cos", "tanh", "sinh", "conj"}
OF_NO_BOOLEANS = {"floor_divide", "remainder", "fmod", "sign", "square", "negative", "subtract",
                  "floor", "ceil", "trunc", "rint", "conj"}
WITH_REDUCTIONS = {"boolean", "i8", "i32", "u64", "f16", "f32", "f64", "c64"}


def is_left_out(name, *operands):
    """What arrays refuse or NumPy does with types that arrays do not use."""
    if any(x.dtype.kind == "c" for x in operands):
        return name not in OF_COMPLEX
    if all(x.dtype.kind in "biu" for x in operands) and name in {"fmod", "rint"}:
        return True  # ours: fmod is a function of real numbers, rint leaves integers as they are
    return all(x.dtype.kind == "b" for x in operands) and name in OF_NO_BOOLEANS


def main():
    assert np.__version__ >= "2.1"
    print(f"# made by make_numpy_cases.py with NumPy {np.__version__}")
    rng = np.random.default_rng(5)
    for left, right in PAIRS * 3:
        a, b = numbers(rng, NAMES[left]), numbers(rng, NAMES[right])
        print("case", left, right)
        print("a", text(a))
        print("b", text(b))
        for name, function in BINARY.items():
            if not is_left_out(name, a, b):
                print_result(name, function, a, b)
        if left == right:
            for name, function in UNARY.items():
                if not is_left_out(name, a):
                    print_result(name, function, a)
        if left == right and left in WITH_REDUCTIONS:
            grid = a.reshape(2, 4)
            for name, function in REDUCTIONS.items():
                if a.dtype.kind != "c" or name not in {"min", "max", "argmin", "argmax"}:
                    print_result(name, function, grid)
                    print_result(name + "1", function, grid, axis=1)
        print("end")


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    main()
