#!/usr/bin/env python3
"""Writes promotion_table.txt: what NumPy 2 makes of two types.

Lines `left right result` for arrays of both types, `left NUMBER result` for an array and a Python
number, and `sin type result`, `sum type result`, `divide left right result` for functions of them.

    python3 make_promotion_table.py > promotion_table.txt
"""
import numpy as np

NAMES = {
    "boolean": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}
OF_TYPE = {np.dtype(t): n for n, t in NAMES.items()}
NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def one(name):
    return np.ones(1, NAMES[name])


def main():
    assert np.__version__ >= "2"
    print(f"# made by make_promotion_table.py with NumPy {np.__version__}")
    for left in NAMES:
        for right in NAMES:
            print("promote", left, right, OF_TYPE[np.promote_types(NAMES[left], NAMES[right])])
            print("divide", left, right, OF_TYPE[(one(left) / one(right)).dtype])
        for number, value in NUMBERS.items():
            print("number", left, number, OF_TYPE[np.result_type(one(left), value)])
        print("sin", left, OF_TYPE[np.sin(one(left)).dtype])
        print("sum", left, OF_TYPE[one(left).sum().dtype])
        print("mean", left, OF_TYPE[one(left).mean().dtype])
        print("abs", left, OF_TYPE[np.abs(one(left)).dtype])


main()
