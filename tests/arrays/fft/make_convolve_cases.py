#!/usr/bin/env python3
"""Writes convolve_cases.txt: convolutions and correlations of NumPy 2.

A line a case: FUNCTION TYPE LENGTH TYPE LENGTH MODE TYPE LENGTH NUMBER... Elements are
(37 i + 11) % 19 - 9 of the first operand, (23 i + 5) % 17 - 8 of the second; of complex types i - 2
is the imaginary part of element i; booleans are whether that is above 0.

    python3 make_convolve_cases.py > convolve_cases.txt
"""
import numpy as np

NAMES = {"boolean": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32,
         "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
OF_TYPE = {np.dtype(t): n for n, t in NAMES.items()}


def operand(dtype, length, factor, term, modulus):
    i = np.arange(length)
    values = (factor * i + term) % modulus - modulus // 2
    if dtype == "boolean":
        return values > 0
    if dtype[0] == "c":
        values = values + 1j * (i - 2)
    return values.astype(NAMES[dtype])


def text(values):
    if values.dtype.kind == "c":
        return " ".join(f"{v.real:.0f} {v.imag:.0f}" for v in values)
    return " ".join(f"{v:.0f}" for v in values.astype(np.float64))


assert np.__version__ >= "2.1"
print(f"# made by make_convolve_cases.py with NumPy {np.__version__}")
for name in ("convolve", "correlate"):
    for a, v in (("f64", "f64"), ("f32", "f32"), ("i32", "i64"), ("c128", "c64"), ("c64", "f32"),
                 ("boolean", "boolean"), ("i32", "f32")):
        for n, m in ((1, 1), (6, 1), (7, 3), (3, 7), (8, 4), (4, 9), (5, 5)):
            for mode in ("full", "same", "valid"):
                result = getattr(np, name)(operand(a, n, 37, 11, 19), operand(v, m, 23, 5, 17),
                                           mode)
                print(name, a, n, v, m, mode, OF_TYPE[result.dtype], len(result), text(result))
