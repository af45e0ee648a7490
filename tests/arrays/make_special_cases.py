#!/usr/bin/env python3
"""Writes special_cases.txt: lines `FUNCTION x value`, computed by mpmath to 50 digits.

The Bessel functions of whole order are j0 to j29 and y0 to y29. Every x is a double, and all but
the marked ones floats, too.

    python3 make_special_cases.py > special_cases.txt
"""
import struct
import mpmath as mp

mp.mp.dps = 50


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def probit(p):
    p = mp.mpf(p)
    return -mp.sqrt(2) * erfcinv(2 * p)


def erfcinv(x):
    """By Newton's way from the logarithm's first guess; mpmath has erfinv alone."""
    x = mp.mpf(x)
    if x > 1:
        return -erfcinv(2 - x)
    with mp.workdps(120):
        guess = mp.erfinv(1 - x) if x > 1e-3 else mp.sqrt(-mp.log(x * mp.sqrt(-mp.pi * mp.log(x))))
        for _ in range(12):
            guess += (mp.erfc(guess) - x) * mp.sqrt(mp.pi) / 2 * mp.exp(guess * guess)
        return guess


def cases(function, values, inputs):
    for x in inputs:
        yield function, x, values(mp.mpf(x))


SMALL = [1e-30, 1e-5, 0.01, 0.3, 0.5, 0.75, 1.0, 1.25]
LINE = [single(x) for x in SMALL + [2.0, 3.3, 5.0, 7.9, 8.1]]
FAR = [single(x) for x in [10.0, 14.7, 19.9, 20.1, 23.9, 24.1, 26.5, 37.0, 60.0, 88.0]]
SIGNED = LINE + [-x for x in LINE]
INSIDE = [single(x) for x in [1e-20, 1e-4, 0.1, 0.5, 0.84, 0.85, 0.86, 0.95, 0.99, 0.9999, 1 - 2**-24]]
PROBABILITIES = [single(x) for x in [1e-37, 1e-20, 1e-12, 1e-9, 1e-6, 0.001, 0.0749, 0.0751, 0.25, 0.49,
                                     0.5, 0.51, 0.75, 0.924, 0.926, 0.99, 1 - 2**-24]]
DOUBLES = [1e-310, 1e-300, 1e-100, 1 - 2**-53, 1e-9, 0.1]  # no floats
BESSEL = [single(x) for x in [1e-5, 0.003, 0.4, 1.0, 2.5, 7.3, 13.0, 28.5, 31.0, 77.0, 1234.5, 1e5]]


def all_cases():
    yield from cases("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), SIGNED + FAR + [1e4, 1e30])
    yield from cases("normcdf", mp.ncdf, SIGNED + FAR[:2] + [-x for x in FAR[:8]])
    yield from cases("erfinv", mp.erfinv, INSIDE + [-x for x in INSIDE])
    yield from cases("erfinv", mp.erfinv, [1e-300, 0.1, 0.7, 1 - 2**-53])
    yield from cases("erfcinv", erfcinv, PROBABILITIES + [1.0, 1.1, 1.5, 1.85, 2 - 2**-20] + DOUBLES)
    yield from cases("normcdfinv", probit, PROBABILITIES + DOUBLES)
    yield from cases("i0", lambda x: mp.besseli(0, x), SIGNED + FAR + [-88.0, 300.0, 712.0])
    yield from cases("i1", lambda x: mp.besseli(1, x), SIGNED + FAR + [-88.0, 300.0, 712.0])
    turns = SIGNED + [single(x) for x in [1000.3, 0.2501, 8388607.5, -12345.25]] + [1e15 + 0.125, 0.1]
    yield from cases("sinpi", mp.sinpi, turns)
    yield from cases("cospi", mp.cospi, turns)
    for order in range(30):
        yield from cases(f"j{order}", lambda x: mp.besselj(order, x), BESSEL)
        yield from cases(f"y{order}", lambda x: mp.bessely(order, x), BESSEL)


if __name__ == "__main__":
    print(f"# made by make_special_cases.py with mpmath {mp.__version__}")
    for name, x, value in all_cases():
        if abs(value) < mp.mpf("1e300"):
            print(name, repr(float(x)), mp.nstr(value, 20))
