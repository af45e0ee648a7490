#!/usr/bin/env python3
"""Prints a loop kernel: one stage of Maxwell's equations on tetrahedra, as the loop engine slices it.

    bench/maxwell_stage.py 4 > stage.loopy && rtcg tune stage.loopy --set kept=1 --set step=1 --set part=1

Upwind fluxes at the nodes of faces, derivatives, lift and the update of a low-storage Runge-Kutta stage, from the
node's own values and those of the neighbours that `neighbour` and `other` name. Test data are in [0, 8): neighbours
are up to four elements away.
"""
import argparse

NEXT = [(1, 2), (2, 0), (0, 1)]  # axes of a curl
ELEMENTS = {1: 196608, 2: 105456, 3: 55566, 4: 41154, 5: 27000, 6: 16464}


def stage(order):
    nodes = (order + 1) * (order + 2) * (order + 3) // 6
    face = (order + 1) * (order + 2) // 2
    lines = [f"# a stage of Maxwell's equations on tetrahedra of order {order}, upwind flux",
             f"kernel maxwell_{order}",
             "domains",
             f"  {{[e, i]: 0 <= e < n and 0 <= i < {nodes}}}",
             f"  {{[j]: 0 <= j < {nodes}}}",
             f"  {{[m]: 0 <= m < {4 * face}}}",
             f"  {{[e1, m1]: 0 <= e1 < n and 0 <= m1 < {4 * face}}}",
             "arguments",
             f"  u, residual, next: f32[n, 6, {nodes}]; D: f32[3, {nodes}, {nodes}]; lift: f32[{nodes}, {4 * face}];",
             f"  G: f32[n, 3, 3]; normal: f32[n, 4, 3]; scale: f32[n, 4]; inside: i32[{4 * face}];",
             f"  other: i32[n, {4 * face}]; neighbour: i32[n, 4]; kept, step, part: f32",
             f"sizes n={ELEMENTS[order]}",
             "small n=9",
             "type f32",
             "statements",
             f"  <f32> flux[n, 6, {4 * face}]",
             f"  outside(f) := u[max(0, min(n - 1, e1 + neighbour[e1, m1 // {face}] - 4)), f, other[e1, m1] % {nodes}]",
             f"  d(f) := outside(f) - u[e1, f, inside[m1] % {nodes}]",
             f"  x(a) := normal[e1, m1 // {face}, a]",
             "  dotE() := x(0)*d(0) + x(1)*d(1) + x(2)*d(2)",
             "  dotH() := x(0)*d(3) + x(1)*d(4) + x(2)*d(5)",
             f"  half() := 0.5f*scale[e1, m1 // {face}]"]
    for c, (a, b) in enumerate(NEXT):
        lines.append(f"  flux[e1, {c}, m1] = half()*(x({a})*d({3 + b}) - x({b})*d({3 + a}) + d({c}) - x({c})*dotE())")
        lines.append(f"  flux[e1, {3 + c}, m1] = half()*(x({b})*d({a}) - x({a})*d({b}) + d({3 + c}) - x({c})*dotH())")
    lines += ["  r(a, f) := sum(j, D[a, i, j]*u[e, f, j])",
              "  dx(b, f) := G[e, 0, b]*r(0, f) + G[e, 1, b]*r(1, f) + G[e, 2, b]*r(2, f)"]
    for c, (a, b) in enumerate(NEXT):
        for field, curl in ((c, f"dx({a}, {3 + b}) - dx({b}, {3 + a})"), (3 + c, f"dx({b}, {a}) - dx({a}, {b})")):
            lines += [f"  residual[e, {field}, i] = kept*residual[e, {field}, i] + "
                      f"step*({curl} + sum(m, lift[i, m]*flux[e, {field}, m]))",
                      f"  next[e, {field}, i] = u[e, {field}, i] + part*residual[e, {field}, i]"]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("order", type=int, choices=sorted(ELEMENTS))
    print(stage(parser.parse_args().order))
