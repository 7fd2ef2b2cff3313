"""The page's charts: each takes a piece of the data and gives HTML."""
import html
import statistics

import figures
import svg


def percent(value):
    return "–" if value is None else f"{100 * value:.1f}%"


def efficiency(records, regime):
    """Efficiency over P of scaling.json's records of one regime, with intervals, the ideal, Amdahl's line and the bands."""
    rows = sorted((r for r in records if r["regime"] == regime), key=lambda r: r["ranks"])
    if len(rows) < 2:
        return ""
    most, key = max(r["ranks"] for r in rows), f"efficiency_{regime}"
    values = [v for r in rows for v in [r[key], *(r["efficiency_ci"] or [])]]
    low, high = max(0.0, min(0.5, *values)), min(1.5, max(1.0, *values))  # an interval may reach beyond: it is cut off
    chart = svg.Chart((1, max(most, 2)), (max(0.0, low - 0.05), high + 0.05), "ranks P", "efficiency", x_base=2,
                      x_ticks=sorted({r["ranks"] for r in rows}))
    for (low, name), high in zip(figures.BANDS, [1.0, *(low for low, _ in figures.BANDS)]):
        chart.band(low, high, f"band-{name}", name)
    chart.line([(1, 1.0), (most, 1.0)], "s7", "ideal", dashed=True)
    share = figures.amdahl_share([(r["ranks"], r["speedup"]) for r in rows])
    if share is not None:
        steps = [most ** (i / 40) for i in range(41)]
        chart.line([(p, figures.amdahl_efficiency(share, p)) for p in steps], "s1", f"Amdahl, serial share {percent(share)}", dashed=True)
    chart.line([(r["ranks"], r[key]) for r in rows], "s0")
    chart.dots([(r["ranks"], r[key], r["efficiency_ci"], f'P = {r["ranks"]}: {percent(r[key])}, {r["step_ms"]:.2f} ms a step, {r["verdict"]}')
                for r in rows], "s0", f"measured, {regime}")
    return chart.svg(f"efficiency against ranks, {regime} scaling")


def waterfall(w):
    """The loss against perfect scaling, part by part."""
    bars = figures.cascade(w["ideal_ms"], [(p["name"], p["ms"]) for p in w["parts"]], w["residual_ms"], w["step_ms"])
    edges = [edge for _, low, high in bars for edge in (low, high)]
    low = min(w["ideal_ms"], *(min(a, b) for _, a, b in bars[1:-1])) if len(bars) > 2 else 0
    base = max(0.0, low - 2 * abs(w["loss_ms"]) - 0.05 * w["step_ms"])  # small losses of a long step must be seen
    chart = svg.Chart((0, len(bars)), (base, max(edges) + 0.05 * (max(edges) - base)), "", "ms a step", x_ticks=[])
    for i, (name, start, end) in enumerate(bars):
        total = name in ("ideal", "measured")
        css = "s7" if total else "s3" if end > start else "s2"
        value = end if total else end - start
        chart.bar(max(start, base), end, i + 0.12, i + 0.88, css, f"{name}: {value:+.2f} ms" if not total else f"{name}: {value:.2f} ms")
        chart.note(i + 0.5, max(start, end) + 0.012 * (max(edges) - base), f"{value:.2f}" if total else f"{value:+.2f}")
        chart.parts.append(svg.text(chart.x(i + 0.5), chart.height - svg.BOTTOM + (14 if i % 2 == 0 else 28), name, css="small"))
    return chart.svg(f'where the time went, {w["name"]}')


def step_series(runs):
    """Step times of one or more runs over each other, with one run's events."""
    shown = [r for r in runs if r["series"]]
    if not shown:
        return ""
    values = [ms for r in shown for ms in r["series"]["step_ms"]]
    high = sorted(values)[min(len(values) - 1, int(0.995 * len(values)))] * 1.15  # one outlier must not flatten the rest
    last = max(r["series"]["step"][-1] for r in shown)
    chart = svg.Chart((0, max(last, 1)), (0, high), "step", "ms a step (longest rank)")
    if len(shown) == 1:
        window = shown[0]["summary"]["window"]
        if window:
            left, right = chart.x(window["first"]), chart.x(window["last"])
            chart.parts.append(f'<rect class="window" x="{left:.1f}" width="{right - left:.1f}" y="{svg.TOP}" height="{chart.height - svg.TOP - svg.BOTTOM}">{svg.title("the stable window")}</rect>')
        for event in shown[0]["events"]:
            if event["kind"] not in ("parameters", "log flush") and 0 <= event["step"] <= last:
                chart.rule(event["step"], "s3", f'{event["kind"]} at step {event["step"]}: {event["text"]}')
    for i, run in enumerate(shown):
        points = [(k, min(ms, high)) for k, ms in zip(run["series"]["step"], run["series"]["step_ms"])]
        chart.line(points, f"s{i % 7} thin", run["name"])
    return chart.svg("step times")


def clock_series(run):
    points = [(k, v) for k, v in zip(run["series"]["step"], run["series"]["sm_mhz"]) if v is not None] if run["series"] else []
    if len(points) < 2:
        return ""
    values = [v for _, v in points]
    chart = svg.Chart((0, points[-1][0]), (0.95 * min(values), 1.02 * max(values)), "step", "SM clock, MHz", height=200)
    chart.line(points, "s2 thin", run["name"])
    return chart.svg("SM clock")


def heat_map(records):
    """Step time over the best of its batch, cap by batch; the better of several kinds (overlap, view) of a cell."""
    caps, batches = sorted({r["bucket_mb"] for r in records}), sorted({r["batch"] for r in records})
    cells = {}
    for r in records:
        key = r["bucket_mb"], r["batch"]
        if key not in cells or r["ratio"] < cells[key]["ratio"]:
            cells[key] = r
    rows = "".join(f"<th>{cap:g} MB</th>" for cap in caps)
    body = ""
    for batch in batches:
        body += f"<tr><th>b {batch}</th>"
        for cap in caps:
            r = cells.get((cap, batch))
            if r is None:
                body += "<td>–</td>"
                continue
            heat = min(1.0, (r["ratio"] - 1) / 0.5)
            body += (f'<td style="--heat:{heat:.3f}" title="{html.escape(r["verdict"])}, {r["samples_per_s"]:.1f} samples/s">'
                     f'<b>{r["ratio"]:.3f}</b><br>{r["step_ms"]:.2f} ms</td>')
        body += "</tr>"
    return f'<table class="heat"><thead><tr><th></th>{rows}</tr></thead><tbody>{body}</tbody></table>'


def bus_bandwidth(series):
    """busbw over size: series is a list of (name, [(bytes, GB/s)])."""
    series = [(name, sorted(points)) for name, points in series if points]
    if not series:
        return ""
    sizes = [x for _, points in series for x, _ in points]
    rates = [y for _, points in series for _, y in points]
    chart = svg.Chart((min(sizes) / 1.5, max(sizes) * 1.5), (0, 1.15 * max(rates)), "bytes", "busbw, GB/s", x_base=10)
    for i, (name, points) in enumerate(series):
        if len(points) > 1:
            chart.line(points, f"s{i % 7}")
        chart.dots([(x, y, None, f"{x:,} bytes: {y:.3f} GB/s") for x, y in points], f"s{i % 7}", name)
    return chart.svg("bus bandwidth against size")


def device_means(bound, means):
    names = [("util_pct", "utilisation"), ("sm_pct", "SM"), ("tensor_pct", "tensor"), ("dram_pct", "memory")]
    chart = svg.Chart((0, len(names)), (0, 100), f"bound by {bound}", "% of the time", x_ticks=[], height=220)
    for i, (key, name) in enumerate(names):
        value = means[key]
        if value is not None:
            chart.bar(0, value, i + 0.2, i + 0.8, f"s{i}", f"{name}: {value:.1f}%")
        chart.parts.append(svg.text(chart.x(i + 0.5), 220 - svg.BOTTOM + 14, f'{name} {"–" if value is None else f"{value:.0f}%"}'))
    return chart.svg("device activity")


def measured_bandwidth(run):
    return [(b["bytes"], b["busbw_gb_s"]) for b in run["summary"]["buckets"] if b["busbw_gb_s"]]


def median_step(run):
    values = run["series"]["step_ms"] if run["series"] else []
    return statistics.median(values) if values else None
