#!/usr/bin/env python3
"""Times the original Python tools printing the tree that cgen/print_10000_statements prints.

    pip install cgen pymbolic
    python3 bench/peers/print_cgen.py [build/bench/cgen_bench.json | --show]

A function of 10,000 statements: 2,000 times a loop over a declaration, an assignment and a guarded
assignment. Only turning the finished tree into text is timed, as in our benchmark. Python cgen has no
expressions, only text, so two times are given: with expressions that are text already, and with
expressions that are trees (pymbolic's, printed by its C mapper, as Loo.py does), which is what our
tree holds. Given the JSON of our benchmark, says how many times longer Python takes; on both sides the
minimum of the processor time counts, because whatever else runs on the machine only adds.
"""
import json
import sys
import time

import cgen
from pymbolic import var
from pymbolic.mapper.c_code import CCodeMapper
from pymbolic.primitives import Comparison


class TextAtLast:
    """An expression tree that becomes text when cgen prints the statement around it."""

    def __init__(self, tree):
        self.tree = tree

    def __str__(self):
        return CCodeMapper()(self.tree)


class LateAssign(cgen.Generable):
    def __init__(self, target, value, declare=""):
        self.target, self.value, self.declare = target, value, declare

    def generate(self):
        yield f"{self.declare}{self.target} = {self.value};"


class LateIf(cgen.Generable):
    def __init__(self, condition, then):
        self.condition, self.then = condition, then

    def generate(self):
        yield from cgen.If(str(self.condition), self.then).generate()


def text_body(i):
    return [
        cgen.Initializer(cgen.Value("float", f"t{i}"), f"a[i] * {i}.0f + b[i]"),
        cgen.Assign(f"c[i + {i}]", f"t{i} * t{i} - a[i + 1]"),
        cgen.If(f"t{i} > 0.0f", cgen.Assign("b[i]", f"t{i}")),
    ]


a, b, c, index = var("a"), var("b"), var("c"), var("i")


def tree_body(i):
    t = var(f"t{i}")
    return [
        LateAssign(t, TextAtLast(a[index] * float(i) + b[index]), "float "),
        LateAssign(TextAtLast(c[index + i]), TextAtLast(t * t - a[index + 1])),
        LateIf(TextAtLast(Comparison(t, ">", 0.0)), LateAssign(TextAtLast(b[index]), TextAtLast(t))),
    ]


def build(repetitions, make_body):
    return cgen.FunctionBody(
        cgen.FunctionDeclaration(
            cgen.Value("void", "kernel"),
            [cgen.Pointer(cgen.Value("float", name)) for name in "abc"] + [cgen.Value("int", "n")],
        ),
        cgen.Block([
            cgen.For("int i = 0", "i < n", "++i", cgen.Block(make_body(i)))
            for i in range(repetitions)
        ]),
    )


if "--show" in sys.argv:
    print(build(2, text_body))
    print(build(2, tree_body))
    sys.exit()
ours = {}  # ms, by the name of the benchmark
if len(sys.argv) > 1:
    with open(sys.argv[1], encoding="utf-8") as file:
        for run in json.load(file)["benchmarks"]:
            if run["run_type"] == "iteration":
                time_ms = min(run["cpu_time"], ours.get(run["run_name"], run["cpu_time"]))
                ours[run["run_name"]] = time_ms
for name, make_body in (("expressions as text", text_body), ("expressions as trees", tree_body)):
    tree = build(2000, make_body)
    times = []
    for _ in range(7):
        begin = time.process_time()
        text = str(tree)
        times.append(time.process_time() - begin)
    python_ms = min(times) * 1e3
    print(f"Python cgen, {name}: {len(text.splitlines())} lines, "
          f"minimum of {len(times)}: {python_ms:.1f} ms")
    for benchmark in ("cgen/print_10000_statements", "cgen/print_10000_lowered_statements"):
        if benchmark in ours:
            print(f"  {benchmark}: {ours[benchmark]:.2f} ms, ratio {python_ms / ours[benchmark]:.1f}")
