#!/usr/bin/env python3
"""Measures how good searches of the tuner are: gallery kernels x seeds x seconds, on one device.

    bench/search_quality.py                                   20 kernels x 8 seeds x 10 s: half an hour
    bench/search_quality.py syr2k star_25 --seeds 2 --budget 8
    bench/search_quality.py --best best.json                  keeps the best times that are known

For each kernel: the time that each search found over the best known one (mean and worst over the seeds), when the
first candidate had been timed, how many were tried, and the time of the candidate that the model likes best of those
that ran. The best known time is the least of these runs and of the file of `--best`, which is written at the end.
Each search begins without wisdom, without a log and without compiled kernels.

Needs `rtcg` (--rtcg PATH, otherwise build/bin/rtcg).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GALLERY = ROOT / "examples" / "gallery"
KERNELS = ["product", "syr2k", "tall_gram", "small_products", "abc-acd-db", "abcd-aebf-dfce", "conv_3x3",
           "conv_depthwise", "softmax", "layer_norm", "attention", "batch_norm", "histogram", "scatter_add", "star_25",
           "acoustic_wave", "stiffness_3d", "nearest_neighbour", "2mm", "matrix_vector"]


def search(rtcg, path, seed, options):
    with tempfile.TemporaryDirectory() as folder:
        command = [rtcg, "tune", str(path), "--device", options.device, "--budget", str(options.budget), "--seed",
                   str(seed), "--fresh", "--wisdom", folder + "/wisdom.jsonl", "--json"]
        command += ["--small"] if options.small else []
        cold = {**os.environ, "RTCG_CACHE_DIR": folder + "/cache"}
        done = subprocess.run(command, capture_output=True, text=True, env=cold)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or "status %d" % done.returncode).splitlines()[-1])
    result = json.loads(done.stdout)
    fine = [each for each in result["tried"] if "us" in each]
    if not fine:
        raise RuntimeError("no candidate ran")
    return {"us": fine[0]["us"], "slicing": fine[0]["slicing"], "tried": len(result["tried"]),
            "refused": len(result["tried"]) - len(fine), "seconds": result["seconds"],
            "first_seconds": result["first_seconds"], "beginning": result["beginning"],
            "model_us": min(fine, key=lambda each: each["predicted_us"])["us"]}


def mean(values):
    return sum(values) / len(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="names of gallery kernels; otherwise 20 of all families")
    parser.add_argument("--seeds", type=int, default=8, help="searches of each kernel")
    parser.add_argument("--budget", type=float, default=10, help="seconds of each search")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="the small sizes of the kernel files")
    parser.add_argument("--best", help="JSON file of best known times, by kernel; read and written")
    parser.add_argument("--json", help="file for the figures, a line a search")
    parser.add_argument("--rtcg", default=str(ROOT / "build" / "bin" / "rtcg"))
    options = parser.parse_args()
    names = options.kernels or KERNELS
    unknown = [name for name in names if not list(GALLERY.glob(f"*/{name}.loopy"))]
    if unknown:
        sys.exit("search_quality.py: no gallery kernel " + ", ".join(unknown))
    best = {}
    if options.best and pathlib.Path(options.best).exists():
        best = json.loads(pathlib.Path(options.best).read_text(encoding="utf-8"))
    print("| kernel | best known us | mean ratio | worst ratio | model's choice, ratio | first candidate s, worst | "
          "tried, least | prepared s: rank, arrays, interpret, reference |")
    print("|---|---|---|---|---|---|---|---|")
    ratios = []
    for name in names:
        path = next(GALLERY.glob(f"*/{name}.loopy"))
        rows = []
        for seed in range(1, options.seeds + 1):
            try:
                rows.append(search(options.rtcg, path, seed, options))
            except RuntimeError as problem:
                print(f"| {name} | seed {seed}: {problem} | | | | | | |", flush=True)
                continue
            if options.json:
                with open(options.json, "a", encoding="utf-8") as out:
                    out.write(json.dumps({"kernel": name, "seed": seed, "budget": options.budget, **rows[-1]}) + "\n")
        if not rows:
            continue
        fastest = min(rows, key=lambda row: row["us"])
        if name not in best or fastest["us"] < best[name]["us"]:
            best[name] = {"us": fastest["us"], "slicing": fastest["slicing"]}
        own = [row["us"] / best[name]["us"] for row in rows]
        ratios += own
        parts = ["ranking", "arrays", "interpreting", "reference"]
        longest = ", ".join(f"{max(row['beginning'][part + '_seconds'] for row in rows):.2f}" for part in parts)
        print(f"| {name} | {best[name]['us']:.1f} | {mean(own):.3f} | {max(own):.3f} | "
              f"{mean([row['model_us'] for row in rows]) / best[name]['us']:.2f} | "
              f"{max(row['first_seconds'] for row in rows):.2f} | {min(row['tried'] for row in rows)} | {longest} |",
              flush=True)
    if options.best:
        pathlib.Path(options.best).write_text(json.dumps(best, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if ratios:
        print(f"\n{len(ratios)} searches of {options.budget:g} s: mean ratio {mean(ratios):.3f}, worst {max(ratios):.3f}")


if __name__ == "__main__":
    main()
