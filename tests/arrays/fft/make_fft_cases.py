#!/usr/bin/env python3
"""Writes fft_cases.txt: Fourier transforms of NumPy 2, over shapes, axes, lengths and norms.

A line a case: FUNCTION TYPE SHAPE LENGTHS AXES NORM TYPE SHAPE NUMBER..., where lists are joined by
commas and `-` is an option that is not given. Element i of the operand, in C order, is
(37 i + 11) % 19 - 9 quarters, and of complex types the imaginary part (23 i + 5) % 17 - 8 quarters.

    python3 make_fft_cases.py > fft_cases.txt
"""
import numpy as np

NAMES = {"boolean": np.bool_, "i32": np.int32, "u8": np.uint8, "f16": np.float16,
         "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
OF_TYPE = {np.dtype(t): n for n, t in NAMES.items()}


def operand(dtype, shape):
    i = np.arange(int(np.prod(shape)))
    values = ((37 * i + 11) % 19 - 9) / 4
    if np.dtype(dtype).kind == "c":
        values = values + 1j * (((23 * i + 5) % 17 - 8) / 4)
    if np.dtype(dtype).kind in "biu":
        values = np.abs(np.trunc(values))
    return values.astype(dtype).reshape(shape)


def joined(numbers):
    if numbers is None:
        return "-"
    return ",".join(str(n) for n in (numbers if isinstance(numbers, tuple) else (numbers,)))


def text(values):
    digits = 9 if values.dtype in (np.float32, np.complex64) else 17
    flat = values.ravel()
    parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    return " ".join(f"{float(v):.{digits}g}" for v in parts)


def print_case(name, dtype, shape, lengths=None, axes=None, norm=None):
    options = {}
    several = name.endswith("n") or name.endswith("2")
    if lengths is not None:
        options["s" if several else "n"] = lengths
    if axes is not None:
        options["axes" if several else "axis"] = axes
    if norm is not None:
        options["norm"] = norm
    result = getattr(np.fft, name)(operand(NAMES[dtype], shape), **options)
    result = np.asarray(result)
    print(name, dtype, joined(shape), joined(lengths), joined(axes), norm or "-",
          OF_TYPE[result.dtype], joined(result.shape), text(result))


def main():
    assert np.__version__ >= "2.1"
    print(f"# made by make_fft_cases.py with NumPy {np.__version__}")
    # NumPy rounds the factors of f16 to f16, and irfft gives f16; arrays compute in f32
    for name in ("fft", "ifft"):
        for dtype in NAMES if name == "fft" else [t for t in NAMES if t != "f16"]:
            print_case(name, dtype, (6,))
        for norm in ("backward", "ortho", "forward"):
            print_case(name, "c128", (3, 5), norm=norm)
        for axis in (0, 1, 2, -2):
            print_case(name, "c64", (3, 4, 2), axes=axis)
        for n in (1, 3, 6, 17):
            print_case(name, "c128", (2, 4), n)
            print_case(name, "f32", (4, 3), n, 0)
    for name in ("rfft", "ihfft"):
        for dtype in ("boolean", "i32", "u8", "f32", "f64"):
            print_case(name, dtype, (6,))
        for n in (1, 2, 5, 8, 11):
            print_case(name, "f64", (2, 4), n)
            print_case(name, "f32", (4, 3), n, 0)
        for norm in ("ortho", "forward"):
            print_case(name, "f64", (7,), norm=norm)
            print_case(name, "f64", (8,), norm=norm)
    for name in ("irfft", "hfft"):
        for dtype in ("i32", "f32", "f64", "c64", "c128"):
            print_case(name, dtype, (4,))
        for n in (1, 2, 5, 8, 11):
            print_case(name, "c128", (2, 5), n)
            print_case(name, "c64", (5, 3), n, 0)
        for norm in ("ortho", "forward"):
            print_case(name, "c128", (4,), norm=norm)
            print_case(name, "c128", (4,), 7, norm=norm)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        dtype = "f64" if name == "rfftn" else "c128"
        print_case(name, dtype, (3, 4, 2))
        for axes in ((0, 1), (1, 0), (2,), (-1, 0), (0, 1, 2), (1, 1)):
            print_case(name, dtype, (3, 4, 3), axes=axes)
        print_case(name, dtype, (3, 4), (4, 3), (0, 1))
        print_case(name, dtype, (3, 4), (4, -1), (0, 1))
        print_case(name, dtype, (3, 4), (2, 6), (0, 1), "ortho")
        print_case(name, dtype, (3, 4), norm="forward")
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        print_case(name, "f32" if name == "rfft2" else "c64", (2, 3, 4))
    print_case("fft2", "c64", (2, 3, 4), (2, 2), (0, 2))


main()
