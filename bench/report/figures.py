"""Figures that the page adds to those `tandem` computed. Pure functions."""
import math
import statistics

BANDS = [(0.95, "excellent"), (0.85, "healthy"), (0.80, "acceptable"), (0.70, "investigate"), (0.0, "broken")]


def amdahl_share(points):
    """The serial share s of Amdahl's law, 1/S = s + (1 − s)/P, that fits (P, S) points best by least squares on 1/S;
    None without a point of P > 1. The law is a line through (1, 1), so s has a closed form."""
    rows = [(1 - 1 / p, 1 / s - 1 / p) for p, s in points if p > 1 and s > 0]
    if not rows:
        return None
    share = sum(x * y for x, y in rows) / sum(x * x for x, _ in rows)
    return min(max(share, 0.0), 1.0)


def amdahl_efficiency(share, ranks):
    return 1 / (share * ranks + 1 - share)


def fit_link(buckets):
    """(alpha_us, us_per_byte) of t = alpha + bytes/beta, by least squares over (bytes, transfer_ms) of a run's buckets,
    each weighted by 1/t² (so that small buckets count); None without a transfer. One size alone gives no alpha."""
    points = [(b["bytes"], b["transfer_ms"] * 1e3) for b in buckets if b["transfer_ms"] > 0 and b["bytes"] > 0]
    if not points:
        return None
    weight = [1 / t**2 for _, t in points]
    total = sum(weight)
    mean_x = sum(w * x for w, (x, _) in zip(weight, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weight, points)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weight, points))
    if spread <= 1e-9 * mean_x**2 * total:
        return 0.0, mean_y / mean_x
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weight, points)) / spread
    alpha = mean_y - slope * mean_x
    if slope <= 0:  # larger is not slower: what is left is a constant
        return mean_y, 0.0
    if alpha < 0:  # through the origin instead
        slope = sum(w * x * y for w, (x, y) in zip(weight, points)) / sum(w * x * x for w, (x, _) in zip(weight, points))
        return 0.0, slope
    return alpha, slope


def ticks(low, high, about=5):
    """Round numbers that cover [low, high]'s inside, a step of 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high, base):
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(1, (last - first) // 6)
    return [base**i for i in range(first, last + 1, step)]


def cascade(ideal, parts, residual, total):
    """Bars of a waterfall: (name, from, to), from the ideal step over each part to the measured one."""
    bars, at = [("ideal", 0.0, ideal)], ideal
    for name, ms in [*parts, ("unexplained", residual)]:
        bars.append((name, at, at + ms))
        at += ms
    return [*bars, ("measured", 0.0, total)]


def gamma_of(run, others):
    """Backward with communication over backward without, from a --no-comm run that is otherwise the same; else None."""
    def key(r):
        return r["model"], r["ranks"], r["batch"], r["accumulate"], r["dtype"], tuple(r["injected"])
    backward = run["summary"]["backward_ms"]
    for other in others:
        alone = other["summary"]["backward_ms"]
        if other["ddp"] and not other["communicate"] and key(other) == key(run) and backward and alone:
            return max(1.0, backward / alone)
    return None


def utilisation_verdict(samples):
    """What a GPU was bound by, from the lines of device.rankR.jsonl; None where activity was not measured."""
    def mean(name):
        values = [s[name] for s in samples if isinstance(s.get(name), (int, float))]
        return statistics.fmean(values) if values else None
    util, sm, tensor, dram = (mean(n) for n in ("util_pct", "sm_pct", "tensor_pct", "dram_pct"))
    if sm is None:
        return None
    means = {"util_pct": util, "sm_pct": sm, "tensor_pct": tensor, "dram_pct": dram}
    if util is not None and util > 90 and sm < 50:
        bound = "waiting"  # a waiting collective is a running kernel
    elif dram is not None and dram > 60 and dram > (tensor or 0):
        bound = "memory"
    elif sm >= 60:
        bound = "compute"
    else:
        bound = "latency"
    return bound, means
