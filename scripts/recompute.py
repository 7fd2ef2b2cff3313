#!/usr/bin/env python3
"""Recomputes what Tandem says of runs from their step logs alone, with nothing but Python's standard library.

  recompute.py RUN               prints a run's figures
  recompute.py --check RUN…      compares them with each run's summary.json
  recompute.py --check DIR/scaling.json
                                 compares its records with the step logs of the runs that it names

Exit code 0 if every figure agrees (relative tolerance 1e-6), 1 otherwise, 2 if something cannot be read.
The definitions are those of docs/measuring.md; nothing here is shared with the C++ code.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

RELATIVE = 1e-6
ABSOLUTE = 2e-6  # the logs hold milliseconds to six decimals, microseconds to three


# --- statistics ---------------------------------------------------------------------------------------------


def student_t(confidence, degrees):
    """t with P(|T| <= t) = confidence: the density integrated by Simpson's rule, inverted by bisection."""
    log_scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)

    # With t = sqrt(n) tan(u) the integrand is a power of a cosine on [0, pi/2).
    def probability(t, intervals=4000):
        end = math.atan(t / math.sqrt(degrees))
        step = end / intervals
        weight = lambda i: 1 if i in (0, intervals) else 4 if i % 2 else 2
        total = sum(weight(i) * math.cos(i * step) ** (degrees - 1) for i in range(intervals + 1))
        return 2 * math.exp(log_scale) * math.sqrt(degrees) * total * step / 3

    low, high = 0.0, 1.0
    while probability(high) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) < confidence else (low, middle)
    return (low + high) / 2


T_CACHE = {}


def t95(degrees):
    if degrees not in T_CACHE:
        T_CACHE[degrees] = student_t(0.95, degrees)
    return T_CACHE[degrees]


def t_interval(values, centre=None):
    if len(values) < 2:
        return None
    centre = statistics.fmean(values) if centre is None else centre
    half = t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return [centre - half, centre + half]


def batch_means_interval(series):
    n = len(series)
    if n < 20:
        return None
    means = [statistics.fmean(series[i * n // 10 : (i + 1) * n // 10]) for i in range(10)]
    return t_interval(means, statistics.fmean(series))


def quantile(values, q):
    values = sorted(values)
    position = q * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    return values[below] + (position - below) * (values[above] - values[below])


def drift(series):
    """Theil-Sen slope times length over median."""
    n = len(series)
    stride = 1 + (n - 1) // 2000
    at = range(0, n, stride)
    slopes = [(series[j] - series[i]) / (j - i) for i in at for j in at if j > i]
    return statistics.median(slopes) * n / statistics.median(series) if slopes else 0.0


# --- one run ------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.facts = json.loads((self.folder / "run.json").read_text())
        self.ranks = self.facts["ranks"]
        self.steps = []
        for r in range(self.ranks):
            lines = (self.folder / f"steps.rank{r}.jsonl").read_text().splitlines()
            self.steps.append([json.loads(line) for line in lines])
        counts = {len(steps) for steps in self.steps}
        if len(counts) != 1:
            raise ValueError(f"{folder}: ranks ended after {sorted(counts)} steps")
        self.first, self.last = self.choose_window(counts.pop())

    def choose_window(self, steps):
        config = self.facts.get("config", {})
        asked = next((v for k, v in config.items() if k.strip("-") == "window"), None)
        if isinstance(asked, str) and ":" in asked:
            first, last = (int(part) for part in asked.split(":"))
            return (first, last) if last < steps else (None, None)
        if steps >= 250:
            return 50, 249
        if steps < 15:
            return None, None
        return max(10, steps - steps * 6 // 10), steps - 1

    def window(self):
        return [steps[self.first : self.last + 1] for steps in self.steps]


def means_of_rank(steps):
    def mean(name):
        values = [s[name] for s in steps if s.get(name) is not None]
        return statistics.fmean(values) if values else None

    names = ("data_wait", "data_bubble", "forward", "backward", "comm_busy", "exposed_comm", "optimizer", "host")
    figures = {f"{name}_ms": mean(f"{name}_ms") for name in names}
    figures["step_ms"] = math.fsum(s["step_ms"] for s in steps) / len(steps)
    work = [work_ms(s) for s in steps if work_ms(s) is not None]
    figures["work_ms"] = statistics.fmean(work) if work else None
    return figures


def work_ms(step):
    exposed = step.get("exposed_comm_ms")
    return None if exposed is None else step["step_ms"] - exposed


def skew_figures(window, ranks, longest):
    """(slowest rank, skew, share of steps in which it is last)"""
    if len(ranks) < 2 or any(r["work_ms"] is None for r in ranks):
        return longest, None, None
    work = [r["work_ms"] for r in ranks]
    slowest = work.index(max(work))
    base = min(work) if len(work) == 2 else statistics.median(work)
    last = measured = 0
    for step in zip(*window):
        each = [work_ms(s) for s in step]
        if None in each:
            continue
        measured += 1
        last += each.index(max(each)) == slowest
    return slowest, (max(work) - base) / base, last / measured if measured else None


def bucket_figures(window):
    p = len(window)
    found = {}  # id → [bytes, durations: a list over reductions of a list over ranks]
    probed = 0
    for step in zip(*window):
        ids = [[b["id"] for b in s.get("buckets") or []] for s in step]
        if not ids[0] or any(i != ids[0] for i in ids):
            continue
        probed += 1
        for reduction in zip(*(s["buckets"] for s in step)):
            entry = found.setdefault(reduction[0]["id"], [reduction[0]["bytes"], []])
            entry[1].append([(b["end_us"] - b["start_us"]) / 1e3 for b in reduction])
    buckets = []
    for identity, (size, durations) in found.items():
        transfer = statistics.fmean(min(d) for d in durations)
        bandwidth = size / (transfer * 1e6) * 2 * (p - 1) / p if transfer >= 0.020 and p > 1 else None
        buckets.append(
            {
                "id": identity,
                "bytes": size,
                "reductions": len(durations) / probed,
                "transfer_ms": transfer,
                "wait_ms": [statistics.fmean(d[r] - min(d) for d in durations) for r in range(p)],
                "busbw_gb_s": bandwidth,
            }
        )
    return buckets


def summarise(run):
    if run.first is None:
        return {"window": None, "steps_run": len(run.steps[0])}
    window = run.window()
    count = len(window[0])
    ranks = [means_of_rank(steps) for steps in window]
    walls = [r["step_ms"] for r in ranks]
    longest = walls.index(max(walls))
    each = [max(s["step_ms"] for s in step) for step in zip(*window)]
    series = [s["step_ms"] for s in window[longest]]
    seconds = walls[longest] * count / 1e3
    tokens = sum(s.get("tokens") or 0 for steps in window for s in steps)
    slowest, skew, share = skew_figures(window, ranks, longest)
    own = ranks[slowest]
    summary = {
        "steps_run": len(run.steps[0]),
        "step_ms": walls[longest],
        "step_ms_ci": batch_means_interval(series),
        "step_ms_median": quantile(each, 0.5),
        "step_ms_p90": quantile(each, 0.9),
        "step_ms_p99": quantile(each, 0.99),
        "samples_per_s": sum(s["samples"] for steps in window for s in steps) / seconds,
        "tokens_per_s": tokens / seconds if tokens else None,
        "slowest_rank": slowest,
        "skew": skew,
        "slowest_share": share,
        "drift": drift(series),
        "overlap_ratio": None,
        "ranks": ranks,
        "buckets": bucket_figures(window),
    }
    summary.update({k: v for k, v in own.items() if k not in ("step_ms", "work_ms")})
    if own["exposed_comm_ms"] is not None and own["comm_busy_ms"]:
        summary["overlap_ratio"] = 1 - own["exposed_comm_ms"] / own["comm_busy_ms"]
    summary["window"] = {"first": run.first, "last": run.last, "steps": count}
    return summary


# --- a scaling experiment -----------------------------------------------------------------------------------


def group_figures(folders):
    launches = []
    for folder in folders:
        summary = summarise(Run(folder))
        steps = summary["window"]["steps"]
        launches.append((summary, steps, summary["step_ms"] * steps / 1e3))
    wall = math.fsum(w for _, _, w in launches)
    times = [s["step_ms"] for s, _, _ in launches]

    def mean(name):
        values = [s[name] for s, _, _ in launches]
        return None if any(v is None for v in values) else statistics.fmean(values)

    return {
        "step_ms": 1e3 * wall / sum(n for _, n, _ in launches),
        "step_ms_ci": t_interval(times) if len(times) > 1 else launches[0][0]["step_ms_ci"],
        "samples_per_s": math.fsum(s["samples_per_s"] * w for s, _, w in launches) / wall,
        "exposed_comm_ms": mean("exposed_comm_ms"),
        "data_wait_ms": mean("data_wait_ms"),
        "skew": mean("skew"),
        "each": {"weak": [s["samples_per_s"] for s, _, _ in launches], "strong": [1 / t for t in times]},
    }


def efficiency(group, base, regime, ranks):
    speed = lambda g: g["samples_per_s"] if regime == "weak" else 1 / g["step_ms"]
    speedup = speed(group) / speed(base)
    a, b = group["each"][regime], base["each"][regime]
    interval = None
    if len(a) == len(b) and len(a) >= 2:
        logs = t_interval([math.log(x / y) for x, y in zip(a, b)])
        interval = [math.exp(v) / ranks for v in logs]
    elif group["step_ms_ci"] and base["step_ms_ci"]:
        relative = lambda g: (g["step_ms_ci"][1] - g["step_ms_ci"][0]) / 2 / g["step_ms"]
        half = math.hypot(relative(group), relative(base))
        interval = [speedup * (1 - half) / ranks, speedup * (1 + half) / ranks]
    return speedup, speedup / ranks, interval


def recompute_scaling(path):
    """Every record and baseline of a scaling.json as (label, what is written, what the logs give)."""
    written = json.loads(path.read_text())
    rows = written["records"] + written["baselines"]
    figures = [group_figures([path.parent / run for run in row["runs"]]) for row in rows]
    for row, own in zip(rows, figures):
        regime, ranks = row["regime"], row["ranks"]
        label = f"{path} {regime} {row['run']}"
        again = {k: own[k] for k in own if k != "each"}
        if not row["against"]:
            again.update({"speedup": 1.0, f"efficiency_{regime}": 1.0, "efficiency_ci": None})
        for i, against in enumerate(row["against"]):
            base = next(
                f
                for r, f in zip(rows, figures)
                if r["regime"] == regime and r["run"] == against["baseline"]
            )
            speedup, share, interval = efficiency(own, base, regime, ranks)
            if i == 0:
                again.update({"speedup": speedup, f"efficiency_{regime}": share, "efficiency_ci": interval})
            yield (
                f"{label} against {against['baseline']}",
                against,
                {"speedup": speedup, "efficiency": share, "efficiency_ci": interval},
            )
        yield label, row, again


# --- comparing ----------------------------------------------------------------------------------------------


def same(a, b, relative):
    if a is None or b is None:
        return a is None and b is None
    return abs(a - b) <= relative * max(abs(a), abs(b)) + ABSOLUTE


def differences(written, again, where=""):
    """Yields a line for every figure in `again` that `written` does not have so."""
    if isinstance(again, dict):
        for key, value in again.items():
            if not isinstance(written, dict) or key not in written:
                yield f"{where}.{key} is missing"
            else:
                yield from differences(written[key], value, f"{where}.{key}")
    elif isinstance(again, list):
        if not isinstance(written, list) or len(written) != len(again):
            yield f"{where}: {written} is written, the logs give {again}"
        else:
            for i, value in enumerate(again):
                yield from differences(written[i], value, f"{where}[{i}]")
    else:
        # Bandwidth divides by a time that the logs hold to a nanosecond.
        relative = 1e-4 if where.endswith("busbw_gb_s") else RELATIVE
        if not same(written, again, relative):
            yield f"{where}: {written} is written, the logs give {again}"


def comparisons(path):
    if path.is_dir():
        yield str(path), json.loads((path / "summary.json").read_text()), summarise(Run(path))
    else:
        yield from recompute_scaling(path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with what Tandem has written")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a run's folder, or a scaling.json")
    arguments = parser.parse_args()
    wrong = 0
    try:
        for path in arguments.paths:
            if not arguments.check:
                figures = summarise(Run(path)) if path.is_dir() else [g for _, _, g in recompute_scaling(path)]
                print(json.dumps(figures, indent=2))
                continue
            for label, written, again in comparisons(path):
                lines = list(differences(written, again))
                wrong += len(lines)
                print(f"{label}: " + ("agrees" if not lines else f"{len(lines)} figures differ"))
                for line in lines:
                    print(f"  {line}")
    except (OSError, ValueError, KeyError, StopIteration) as error:
        print(f"recompute.py: {path}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
