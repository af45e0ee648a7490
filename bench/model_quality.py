#!/usr/bin/env python3
"""Measures how well the cost model orders slicings: reads files of `rtcg tune --json`.

    rtcg tune product --budget 20 --fresh --json > product.json
    bench/model_quality.py product.json syrk.json ...

For each file: the candidates that ran, the regret (time of the candidate with the least prediction over the least
time), Spearman's rank correlation of predicted and measured times, and the geometric mean of measured over predicted
with the factor by which it scatters. The last line has the geometric means over all files.
"""
import argparse
import json
import math
import pathlib


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for place in order[begin:end]:
            result[place] = (begin + end - 1) / 2
        begin = end
    return result


def correlation(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    spread = math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))
    return covariance / spread if spread > 0 else 0.0


def quality(candidates):
    """Of pairs of predicted and measured times. Ties of the prediction count with their mean."""
    predicted = [each[0] for each in candidates]
    measured = [each[1] for each in candidates]
    least = min(predicted)
    favourites = [m for p, m in candidates if p <= least * (1 + 1e-9)]
    logs = [math.log(m / p) for p, m in candidates]
    mean = sum(logs) / len(logs)
    scatter = math.sqrt(sum((each - mean) ** 2 for each in logs) / len(logs))
    return {"count": len(candidates), "regret": sum(favourites) / len(favourites) / min(measured),
            "correlation": correlation(ranks(predicted), ranks(measured)), "ratio": math.exp(mean),
            "scatter": math.exp(scatter)}


def candidates_of(path):
    tried = json.loads(pathlib.Path(path).read_text())["tried"]
    return [(each["predicted_us"], each["us"]) for each in tried if "us" in each]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="outputs of `rtcg tune FILE --json`")
    files = parser.parse_args().files
    rows = []
    print("%-20s %6s %8s %12s %20s %8s" % ("kernel", "ran", "regret", "correlation", "measured/predicted", "scatter"))
    for path in files:
        candidates = [each for each in candidates_of(path) if each[0] > 0]
        if len(candidates) < 2:
            continue
        row = quality(candidates)
        rows.append(row)
        print("%-20s %6d %8.2f %12.2f %20.2f %8.2f" % (pathlib.Path(path).stem, row["count"], row["regret"],
                                                       row["correlation"], row["ratio"], row["scatter"]))
    if rows:
        geometric = {key: math.exp(sum(math.log(row[key]) for row in rows) / len(rows))
                     for key in ("regret", "ratio", "scatter")}
        print("%-20s %6d %8.2f %12.2f %20.2f %8.2f" % (
            "all", len(rows), geometric["regret"], sum(row["correlation"] for row in rows) / len(rows),
            geometric["ratio"], geometric["scatter"]))


if __name__ == "__main__":
    main()
