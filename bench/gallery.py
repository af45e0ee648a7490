#!/usr/bin/env python3
"""Tunes gallery kernels and times what others offer for the same work, on one GPU in one run.

    bench/gallery.py                                  every kernel for which a peer is known
    bench/gallery.py softmax conv_3x3 --budget 10     these two, 10 s of search each
    bench/gallery.py --family contractions --json gallery.jsonl
    bench/gallery.py --family contractions --type f64

For each kernel: the fastest slicing that `rtcg tune` finds within the budget, its share of the roofline
of an H100 or H200 (f32 arithmetic without tensor cores, which is also the rate of f64 on them; memory as a
copy reaches it), and the time of PyTorch (f32 without TF32) or CuPy where they have the operation. A ratio above 1
means that the peer takes longer. A kernel without a peer is compared with a copy of as many bytes. Sizes are those
of the kernel file, and so is the type of the numbers unless --type names another.

Needs a GPU, `rtcg` (--rtcg PATH, otherwise build/bin/rtcg) and PyTorch.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
GALLERY = ROOT / "examples" / "gallery"


# Not the default generator: a graph capture that fails leaves that one unusable.
NUMBERS = torch.Generator(device="cuda") if torch.cuda.is_available() else None


def rand(*shape):
    return torch.rand(*shape, device="cuda", generator=NUMBERS)


def integers(most, count, **options):
    return torch.randint(0, most, (count,), device="cuda", generator=NUMBERS, **options)


def sizes_of(path):
    """The sizes of a kernel file: `sizes n=16384, m=4096`."""
    line = re.search(r"^sizes (.*)$", path.read_text(), re.M)
    pairs = re.findall(r"(\w+)=(\d+)", line.group(1)) if line else []
    return {name: int(value) for name, value in pairs}


def contraction(name):
    result, first, second = name.split("-")

    def make(n):
        a = rand(*(n["n" + each] for each in first))
        b = rand(*(n["n" + each] for each in second))
        return lambda: torch.einsum(f"{first},{second}->{result}", a, b)

    return make


def convolution(taps, **options):
    def make(n):
        step, reach = options.get("stride", 1), taps - 1
        x = rand(n["nb"], n["nc"], step * n["ny"] + reach, step * n["nx"] + reach)
        w = rand(n["nf"], n["nc"], taps, taps)
        return lambda: F.conv2d(x, w, **options)

    return make


def of_rows(function):
    def make(n):
        x = rand(n["n"], n["m"])
        return lambda: function(x)

    return make


def product(rows, inner, columns, function):
    """function(a, b) of a matrix of rows x inner and one of inner x columns."""

    def make(n):
        a, b = rand(n[rows], n[inner]), rand(n[inner], n[columns])
        return lambda: function(a, b)

    return make


def attention(n):
    q, k, v = (rand(1, n["nh"], n["n"], n["nd"]) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v)


def head_weights(n):
    q, k = rand(n["n"], n["nh"], n["nd"]), rand(n["n"], n["nh"], n["nd"])
    return lambda: torch.softmax(0.1 * torch.einsum("ihe,jhe->hij", q, k), -1)


def contrastive_sums(n):
    x, y = rand(n["n"], n["nd"]), rand(n["m"], n["nd"])

    def run():
        scores = 0.1 * (x @ y.T)
        return scores.logsumexp(1), scores.logsumexp(0)

    return run


def soft_k_means(n):
    x, centre = rand(n["n"], n["nd"]), rand(n["nc"], n["nd"])

    def run():
        weights = torch.softmax(-torch.cdist(x, centre).square(), 1)
        return weights.T @ x / weights.sum(0)[:, None]

    return run


def batch_norm(n):
    x = rand(n["nb"], n["nc"], n["np"])
    return lambda: F.batch_norm(x, None, None, training=True)


def histogram(n):
    x = integers(n["nb"], n["n"], dtype=torch.int32)
    return lambda: torch.bincount(x, minlength=n["nb"])


def histogram_of_floats(n):
    x = rand(n["n"])
    return lambda: torch.histc(x, n["nb"], 0, 1)


def weighted_histogram(n):
    x = integers(n["nb"], n["n"])
    w = rand(n["n"])
    return lambda: torch.bincount(x, w, minlength=n["nb"])


def scatter_add(n):
    rows = integers(n["nt"], n["n"])
    x, table = rand(n["n"], n["m"]), rand(n["nt"], n["m"])
    return lambda: table.index_add_(0, rows, x)


def gather(n):
    rows = integers(n["nt"], n["n"])
    table = rand(n["nt"], n["m"])
    return lambda: table[rows]


def distances(n):
    x, y = rand(n["n"], n["nd"]), rand(n["m"], n["nd"])
    return lambda: torch.cdist(x, y)


def nearest(n):
    x, y = rand(n["n"], n["nd"]), rand(n.get("nc", n["n"]), n["nd"])
    return lambda: torch.cdist(x, y).min(dim=1)


def two_products(n):
    a, b = rand(n["ni"], n["nk"]), rand(n["nk"], n["nj"])
    c, d = rand(n["nj"], n["nl"]), rand(n["ni"], n["nl"])
    return lambda: torch.addmm(d, a @ b, c)


def three_products(n):
    a, b = rand(n["ni"], n["nk"]), rand(n["nk"], n["nj"])
    c, d = rand(n["nj"], n["nm"]), rand(n["nm"], n["nl"])
    return lambda: (a @ b) @ (c @ d)


def atax(n):
    a, x = rand(n["m"], n["n"]), rand(n["n"])
    return lambda: a.T @ (a @ x)


def bicg(n):
    a, r, p = rand(n["n"], n["m"]), rand(n["n"]), rand(n["m"])
    return lambda: (r @ a, a @ p)


def mvt(n):
    a, y1, y2 = rand(n["n"], n["n"]), rand(n["n"]), rand(n["n"])
    return lambda: (a @ y1, a.T @ y2)


def gesummv(n):
    a, b, x = rand(n["n"], n["n"]), rand(n["n"], n["n"]), rand(n["n"])
    return lambda: 2 * (a @ x) + 3 * (b @ x)


def doitgen(n):
    a, c = rand(n["nr"], n["nq"], n["np"]), rand(n["np"], n["np"])
    return lambda: a @ c


def syrk(n):
    a, c = rand(n["n"], n["m"]), rand(n["n"], n["n"])
    return lambda: torch.addmm(c, a, a.T)


def syr2k(n):
    a, b, c = rand(n["n"], n["m"]), rand(n["n"], n["m"]), rand(n["n"], n["n"])
    return lambda: torch.addmm(torch.addmm(c, a, b.T), b, a.T)


def covariance(n):
    data = rand(n["m"], n["n"])
    return lambda: torch.cov(data)


def small_products(n):
    a, b = rand(n["nb"], n["n"], n["n"]), rand(n["nb"], n["n"], n["n"])
    return lambda: torch.bmm(a, b)


def inverses(n):
    a = rand(n["nb"], 3, 3) + 2 * torch.eye(3, device="cuda")
    return lambda: torch.linalg.inv(a)


def depthwise(n):
    x, w = rand(n["nb"], n["nc"], n["ny"] + 2, n["nx"] + 2), rand(n["nc"], 1, 3, 3)
    return lambda: F.conv2d(x, w, groups=n["nc"])


def conv_1d(n):
    x, w = rand(n["nb"], n["nc"], n["nx"] + n["np"] - 1), rand(n["nf"], n["nc"], n["np"])
    return lambda: F.conv1d(x, w)


def conv_3d(n):
    x = rand(n["nb"], n["nc"], n["nz"] + 2, n["ny"] + 2, n["nx"] + 2)
    w = rand(n["nf"], n["nc"], 3, 3, 3)
    return lambda: F.conv3d(x, w)


def max_pooling(n):
    x = rand(n["nb"], n["nc"], 2 * n["ny"] + 1, 2 * n["nx"] + 1)
    return lambda: F.max_pool2d(x, 3, stride=2)


def cross_entropy(n):
    x = rand(n["n"], n["m"])
    label = integers(n["m"], n["n"])
    return lambda: F.cross_entropy(x, label, reduction="none")


def cost_volume(n):
    f, g = rand(n["nb"], n["nc"], n["ny"], n["nx"]), rand(n["nb"], n["nc"], n["ny"] + 8, n["nx"] + 8)
    shifts = [(u, v) for u in range(9) for v in range(9)]
    return lambda: torch.stack(
        [(f * g[:, :, u:u + n["ny"], v:v + n["nx"]]).mean(1) for u, v in shifts], 1)


def conv_transposed(n):
    x, w = rand(n["nb"], n["nc"], n["ny"], n["nx"]), rand(n["nc"], n["nf"], 4, 4)
    return lambda: F.conv_transpose2d(x, w, stride=2, padding=1)


def group_norm(n):
    x = rand(n["nb"], n["ng"] * n["nc"], n["np"])
    gamma, beta = rand(n["ng"] * n["nc"]), rand(n["ng"] * n["nc"])
    return lambda: F.group_norm(x, n["ng"], gamma, beta)


def causal_weights(n):
    q, k = rand(n["nh"], n["n"], n["nd"]), rand(n["nh"], n["n"], n["nd"])
    mask = torch.full((n["n"], n["n"]), -1e30, device="cuda").triu(1)
    return lambda: torch.softmax(torch.baddbmm(mask, q, k.transpose(1, 2)), -1)


def projections(n):
    q, v = rand(n["nb"], n["nr"], n["nc"]), rand(n["nb"], n["nr"], 1)
    return lambda: torch.linalg.vector_norm(v - q @ (q.transpose(1, 2) @ v), dim=1)


def trilinear(n):
    volume, points = rand(1, 1, n["n"], n["n"], n["n"]), 2 * rand(1, 1, 1, n["np"], 3) - 1
    return lambda: F.grid_sample(volume, points, align_corners=True)


def integral_image(n):
    x = rand(n["n"], n["m"])
    return lambda: x.cumsum(1).cumsum(0)


def unwrapped_phases(n):
    p = rand(n["nr"], n["nt"])

    def run():
        jumps = torch.floor((p[:, 1:] - p[:, :-1] + 0.375) / 0.75)
        return torch.cat([p[:, :1], p[:, 1:] - 0.75 * jumps.cumsum(1)], 1)

    return run


def harris_corners(n):
    image = rand(1, 1, n["n"], n["n"])
    across = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]], device="cuda").view(1, 1, 3, 3) / 12
    down, ones = across.transpose(2, 3).contiguous(), torch.ones(1, 1, 3, 3, device="cuda")

    def run():
        x, y = F.conv2d(image, across), F.conv2d(image, down)
        xx, xy, yy = F.conv2d(x * x, ones), F.conv2d(x * y, ones), F.conv2d(y * y, ones)
        return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2

    return run


PEERS = {
    "softmax": of_rows(lambda x: torch.softmax(x, 1)),
    "log_softmax": of_rows(lambda x: torch.log_softmax(x, 1)),
    "log_sum_exp": of_rows(lambda x: torch.logsumexp(x, 1)),
    "layer_norm": of_rows(lambda x: F.layer_norm(x, x.shape[1:])),
    "rms_norm": of_rows(lambda x: F.rms_norm(x, x.shape[1:])),
    "cross_entropy": cross_entropy,
    "head_weights": head_weights,
    "soft_k_means": soft_k_means,
    "contrastive_sums": contrastive_sums,
    "product_variance": product("n", "l", "m", lambda a, b: torch.var_mean(a @ b, 1, correction=0)),
    "batch_norm": batch_norm,
    "attention": attention,
    "conv_1x1": lambda n: convolution(1)(n),
    "conv_3x3": convolution(3),
    "conv_5x5": convolution(5),
    "conv_7x7_stride2": convolution(7, stride=2),
    "conv_depthwise": depthwise,
    "conv_1d": conv_1d,
    "conv_3d": conv_3d,
    "max_pooling": max_pooling,
    "product": product("m", "l", "n", lambda a, b: a @ b),
    "product_abt": product("m", "l", "n", lambda a, b: a @ b.T),
    "product_atb": product("m", "l", "n", lambda a, b: a.T @ b),
    "triangular_product": lambda n: product("n", "n", "m", lambda a, b: torch.tril(a) @ b)(n),
    "tall_gram": lambda n: (lambda a: lambda: a.T @ a)(rand(n["m"], n["n"])),
    "matrix_vector": lambda n: (lambda a, x: lambda: a @ x)(rand(n["m"], n["n"]), rand(n["n"])),
    "vector_matrix": lambda n: (lambda a, x: lambda: x @ a)(rand(n["m"], n["n"]), rand(n["m"])),
    "small_products": small_products,
    "inverse_3x3": inverses,
    "distances": distances,
    "k_means_assign": nearest,
    "nearest_neighbour": nearest,
    "histogram": histogram,
    "weighted_histogram": weighted_histogram,
    "scatter_add": scatter_add,
    "gather": gather,
    "gemm": lambda n: product("ni", "nk", "nj", lambda a, b: a @ b)(n),
    "2mm": two_products,
    "3mm": three_products,
    "atax": atax,
    "bicg": bicg,
    "mvt": mvt,
    "gesummv": gesummv,
    "doitgen": doitgen,
    "syrk": syrk,
    "syr2k": syr2k,
    "covariance": covariance,
    "cost_volume": cost_volume,
    "conv_transposed": conv_transposed,
    "group_norm": group_norm,
    "causal_weights": causal_weights,
    "projections": projections,
    "trilinear": trilinear,
    "integral_image": integral_image,
    "harris_corners": harris_corners,
    "unwrapped_phases": unwrapped_phases,
}
# compared with a copy of the bytes that they have to move
COPIES = ["star_25", "points_27", "acoustic_wave", "advection", "lattice_boltzmann", "median_3x3",
          "stiffness_3d", "mass_3d", "gradient_3d", "black_scholes", "bias_relu_residual",
          "n_body", "rbf_product", "segmented_sums", "sparse_product", "running_sums", "bilateral",
          "neighbour_forces", "diffusion_steps", "resonators", "reversed_axes", "permuted_axes"]


def microseconds(run, at_least_ms=60):
    """The median of several timed groups, replayed as a graph where that is possible."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    replay = run
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        replay = graph.replay
    except Exception:  # an operation that waits for the device
        torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    replay()
    end.record()
    torch.cuda.synchronize()
    count = max(1, min(1000, int(at_least_ms / 5 / max(begin.elapsed_time(end), 1e-3))))
    times = []
    for _ in range(5):
        begin.record()
        for _ in range(count):
            replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / count * 1e3)
    return sorted(times)[2]


def copy_microseconds(total_bytes):
    count = max(1, int(total_bytes / 8))
    source = torch.empty(count, device="cuda")
    target = torch.empty_like(source)
    return microseconds(lambda: target.copy_(source))


def tune(rtcg, path, budget, numbers):
    command = [rtcg, "tune", str(path), "--device", "cuda:0", "--budget", str(budget), "--fresh", "--json"]
    command += ["--type", numbers] if numbers else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        message = (done.stderr.strip() or "status %d" % done.returncode).splitlines()[-1]
        raise RuntimeError(message)
    return json.loads(done.stdout)


def measure(name, rtcg, budget, numbers):
    row = {"kernel": name}
    path = next(GALLERY.glob(f"*/{name}.loopy"))
    try:
        result = tune(rtcg, path, budget, numbers)
        best = next(each for each in result["tried"] if "us" in each)
        row.update(us=best["us"], predicted_us=best["predicted_us"], slicing=best["slicing"],
                   listed=result["known"], tried=len(result["tried"]),
                   refused=sum("us" not in each for each in result["tried"]),
                   first_us=next((each["us"] for each in
                                  sorted(result["tried"], key=lambda each: each["predicted_us"])
                                  if "us" in each), None))
        props = torch.cuda.get_device_properties(0)
        peak = props.multi_processor_count * 256 * 1.98e9
        bandwidth = 4.2e12 if "H200" in props.name else 3.0e12
        bound = max(result["flops"] / peak, result["memory_bytes"] / bandwidth) * 1e6
        row.update(bound_us=bound, share=bound / best["us"])
    except Exception as problem:
        row["problem"] = str(problem)[:300]
    torch.cuda.empty_cache()
    try:
        maker = PEERS.get(name) or (contraction(name) if "-" in name and
                                    path.parent.name == "contractions" else None)
        if maker:
            row.update(peer="torch", peer_us=microseconds(maker(sizes_of(path))))
        elif "us" in row:
            row.update(peer="copy", peer_us=copy_microseconds(result["memory_bytes"]))
    except Exception as problem:
        row["peer_problem"] = str(problem).splitlines()[0][:120]
    if "us" in row and "peer_us" in row:
        row["ratio"] = row["peer_us"] / row["us"]
    torch.cuda.empty_cache()
    return row


def text_of(row, key, form):
    return format(row[key], form) if row.get(key) is not None else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="names of gallery kernels")
    parser.add_argument("--family", help="all kernels of a family, such as contractions")
    parser.add_argument("--budget", type=float, default=10, help="seconds of search a kernel")
    parser.add_argument("--type", choices=["f32", "f64"], help="of the numbers, in place of that of the kernel file")
    parser.add_argument("--rtcg", default=str(ROOT / "build" / "bin" / "rtcg"))
    parser.add_argument("--json", help="file for the figures, a line a kernel")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gallery.py: there is no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if options.type == "f64":
        torch.set_default_dtype(torch.float64)
    names = options.kernels or (
        sorted(each.stem for each in (GALLERY / options.family).glob("*.loopy")) if options.family
        else list(PEERS) + COPIES)
    unknown = [name for name in names if not list(GALLERY.glob(f"*/{name}.loopy"))]
    if unknown:
        sys.exit("gallery.py: no gallery kernel " + ", ".join(unknown))
    print(torch.cuda.get_device_name(0) + ", torch " + torch.__version__)
    print("| kernel | rtcg us | of the roofline | model's first us | peer | peer us | peer / rtcg | tried (refused) of "
          "| slicing |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for name in names:
        row = measure(name, options.rtcg, options.budget, options.type)
        if "ratio" in row and row["peer"] != "copy":
            ratios.append(row["ratio"])
        print(f"| {name} | {text_of(row, 'us', '.1f')} | {text_of(row, 'share', '.0%')} | "
              f"{text_of(row, 'first_us', '.1f')} | {row.get('peer', '-')} | "
              f"{text_of(row, 'peer_us', '.1f')} | {text_of(row, 'ratio', '.2f')} | "
              f"{row.get('tried', '-')} ({row.get('refused', '-')}) of {row.get('listed', '-')} | "
              f"{row.get('slicing', row.get('problem', ''))} |", flush=True)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\ngeometric mean over {len(ratios)} peers: {mean:.2f}")


if __name__ == "__main__":
    main()
