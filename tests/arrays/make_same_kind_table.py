#!/usr/bin/env python3
"""Writes same_kind_table.txt: which elements NumPy 2 lets go into an array of another type.

Lines `from to yes|no` for arrays of both types, as `to[...] += from` decides, and `NUMBER to yes|no`
for a Python number.

    python3 make_same_kind_table.py > same_kind_table.txt
"""
import numpy as np

NAMES = {
    "boolean": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}
NUMBERS = {"bool": True, "int": 3, "float": 3.0, "complex": 3j}


def goes_in_place(target, value):
    """Whether NumPy adds the value to an array of that type in place."""
    try:
        np.add(np.ones(1, target), value, out=np.ones(1, target), casting="same_kind")
        return True
    except TypeError:
        return False


def main():
    assert np.__version__ >= "2"
    print(f"# made by make_same_kind_table.py with NumPy {np.__version__}")
    for source, source_type in NAMES.items():
        for target, target_type in NAMES.items():
            allowed = np.can_cast(source_type, target_type, "same_kind")
            # an addition meets in a type that may be wider than both
            assert allowed or not goes_in_place(target_type, np.ones(1, source_type))
            print(source, target, "yes" if allowed else "no")
    for number, value in NUMBERS.items():
        for target, target_type in NAMES.items():
            print(number, target, "yes" if goes_in_place(target_type, value) else "no")


main()
