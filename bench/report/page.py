"""Puts the sections of the page together. `data` is what bench/report_data.cpp writes."""
import html
import json
import pathlib

import charts
import figures

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


def escape(value):
    return html.escape(str(value))


def cell(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def plus_minus(value, interval, digits=2, scale=1):
    if value is None:
        return "–"
    half = "" if not interval else f" ± {scale * (interval[1] - interval[0]) / 2:.{digits}f}"
    return f"{scale * value:.{digits}f}{half}"


def table(head, rows, text_columns=()):
    """rows hold HTML."""
    cells = lambda row: "".join(f'<td{" class=text" if i in text_columns else ""}>{c}</td>' for i, c in enumerate(row))
    return (f'<table><thead><tr>{"".join(f"<th>{escape(h)}</th>" for h in head)}</tr></thead>'
            f'<tbody>{"".join(f"<tr>{cells(row)}</tr>" for row in rows)}</tbody></table>')


def section(name, title, content):
    return f'<section id="{name}"><h2>{escape(title)}</h2>{content}</section>' if content else ""


def notes(lines, css):
    return "".join(f'<p class="{css}">{escape(line)}</p>' for line in lines)


def run_table(runs):
    rows = []
    for i, run in enumerate(runs):
        s = run["summary"]
        measured = s["window"] is not None
        overlap = s["overlap_ratio"]
        rows.append([f'<span class="key"><i class="s{i % 7}"></i>{escape(run["name"])}</span>', escape(run["model"]), run["ranks"], run["batch"],
                     run["accumulate"], run["global_batch"], plus_minus(s["step_ms"], s["step_ms_ci"]), cell(s["samples_per_s"], 1),
                     cell(s["exposed_comm_ms"]), "–" if overlap is None else f"{100 * overlap:.0f}%", "–" if s["skew"] is None else f'{100 * s["skew"]:.1f}%',
                     ("steady" if s["steady"] else "not steady") if measured else "no figures"])
    return table(["run", "model", "P", "b", "K", "B", "step ms", "samples/s", "exposed ms", "overlap", "skew", ""], rows)


def diagnosis(runs):
    content, healthy = "", []
    for run in runs:
        lines = notes([f"INJECTED {fault}: figures of this run are no measurement" for fault in run["injected"]], "injected")
        s = run["summary"]
        if s["window"] is None:
            lines += notes([f'no figures: {s["not_steady_because"]}'], "problem")
        elif not s["steady"]:
            lines += notes([f'not steady: {s["not_steady_because"]}'], "finding")
        lines += notes(s["findings"], "finding")
        if lines:
            content += f'<h3>{escape(run["name"])}</h3>' + lines
        else:
            healthy.append(run["name"])
    return content + notes([f'no finding: {", ".join(healthy)}'] if healthy else [], "finding healthy")


def scaling(report):
    records = report["records"]
    drawn = "".join(charts.efficiency(records, regime) for regime in ("weak", "strong"))
    rows = []
    for r in records:
        key = f'efficiency_{r["regime"]}'
        rows.append([escape(r["run"]), r["regime"], r["ranks"], r["batch"], r["global_batch"], plus_minus(r["step_ms"], r["step_ms_ci"]),
                     cell(r["samples_per_s"], 1), cell(r["speedup"]), plus_minus(r[key], r["efficiency_ci"], 1, 100) + "%", escape(r["verdict"])])
    return (f'<div class="pair">{drawn}</div>' + table(["run", "regime", "P", "b", "B", "step ms", "samples/s", "speed-up", "efficiency", "verdict"], rows, (9,))
            + notes(report["notes"], "quiet"))


def waterfalls(data):
    content = ""
    for w in data["waterfalls"]:
        rest = "" if w["explained"] else f' {w["residual_ms"]:+.2f} ms, over 1% of the step, stay unexplained.'
        content += (f'<div><h3>{escape(w["name"])}, {escape(w["regime"])}, against {escape(w["baseline"])}</h3>'
                    f'<p class="quiet">Perfect scaling would take {w["ideal_ms"]:.2f} ms, the run takes {w["step_ms"]:.2f} ms.{rest}</p>{charts.waterfall(w)}</div>')
    return f'<div class="pair">{content}</div>' if content else ""


MOST_TIMELINES = 4


def timelines(runs):
    """Of the runs of several ranks; of an experiment's launches the first few stand for all."""
    drawn = [t for t in (timeline(r, runs) for r in runs if r["ranks"] > 1) if t]
    left_out = notes([f"{len(drawn) - MOST_TIMELINES} more runs have one: give fewer runs to see theirs"] if len(drawn) > MOST_TIMELINES else [], "quiet")
    return "".join(drawn[:MOST_TIMELINES]) + left_out


def timeline_data(run, runs):
    """What schedule.js and timeline.js need of a run; None where its steps were not probed, or nothing was reduced."""
    typical, config = run["typical"], run["config"]
    if not typical or not all(r["buckets"] and any(p["phase"] == "backward" for p in r["phases"]) for r in typical["ranks"]):
        return None
    link = figures.fit_link(run["summary"]["buckets"])
    if link is None:
        return None
    gamma = figures.gamma_of(run, runs)
    largest = max(b["bytes"] for b in typical["ranks"][0]["buckets"])
    number = lambda key, otherwise: float(config[key]) if config.get(key, "").replace(".", "", 1).isdigit() else otherwise
    return {"step": typical["step"], "ranks": typical["ranks"], "clipped": number("clip", 0.0) > 0,
            "overlap": config.get("overlap", "default") not in ("false", "0"), "cap": min(number("bucket_mb", 25.0) * MIB, largest * 1.0),
            "first_cap": number("first_bucket_mb", 1.0) * MIB, "gamma_measured": gamma is not None,
            "link": {"alpha_us": link[0], "us_per_byte": link[1], "slowdown": gamma or 1.0}}


def timeline(run, runs):
    step = timeline_data(run, runs)
    if step is None:
        return ""
    link = step["link"]
    rate = f'{1e-3 / link["us_per_byte"]:.3g} GB/s' if link["us_per_byte"] > 0 else "no limit"
    gamma = f'{link["slowdown"]:.2f}' if step["gamma_measured"] else "1 (assumed: no --no-comm run among these)"
    legend = "".join(f'<span class="key"><i class="{css}"></i>{name}</span>' for css, name in [
        ("s5", "data"), ("s0", "forward"), ("s4", "backward"), ("s2", "update"), ("s3", "waits for a bucket"), ("s7", "ready, waits for its turn"), ("s1", "collective")])
    return (f'<section class="run-timeline"><h3>{escape(run["name"])}: step {step["step"]}, the nearest to the median</h3>'
            f'<figure class="chart"><div class="measured"></div><figcaption>{legend}</figcaption></figure>'
            f'<div class="panel"><div class="slider"><label>cap <b class="cap-text"></b></label><input class="cap" type="range" min="0" max="100" step="1" aria-label="bucket cap">'
            f'<span>predicted step <span class="prediction"></span></span></div><div class="replayed"></div>'
            f'<p class="quiet"><span class="as-run"></span>. Rules: a bucket starts when it is ready and the one before has ended; a collective takes '
            f'{link["alpha_us"]:.0f} µs + bytes / {rate} (fitted to this run); compute beside a collective is slowed by {gamma}; gradients of a measured bucket become final evenly over its bytes.</p></div>'
            f'<script type="application/json" class="timeline">{embedded(step)}</script></section>')


def sweeps(data):
    content = ""
    for sweep in data["sweeps"]:
        content += charts.heat_map(sweep["records"]) + notes(sweep.get("notes", []), "quiet")
    return '<p class="quiet">Step time over that of the fastest with the same batch; the better of what else was varied.</p>' + content if content else ""


def collective_points(document):
    """(bytes, busbw) of each operation of a `tandem collectives` file."""
    series = {}
    for r in document.get("records", []):
        name = " ".join(str(r[k]) for k in ("operation", "op", "backend") if r.get(k))
        size, rate = r.get("bytes"), r.get("busbw_gb_s")
        if size and rate:
            series.setdefault(name or "all-reduce", []).append((size, rate))
    return list(series.items())


def bandwidth(data):
    series = [p for document in data["collectives"] for p in collective_points(document)]
    series += [(f'{run["name"]}, its buckets', charts.measured_bandwidth(run)) for run in data["runs"]]
    return charts.bus_bandwidth(series)


def devices(runs):
    content = ""
    for run in runs:
        verdict = figures.utilisation_verdict(run["device"]) if run["device"] else None
        if verdict:
            content += f'<h3>{escape(run["name"])}: bound by {verdict[0]}</h3>' + charts.device_means(*verdict)
        elif run["device"]:
            content += f'<h3>{escape(run["name"])}</h3><p class="quiet">SM activity was not measured here: utilisation alone says nothing, a waiting collective counts as busy.</p>'
    return content


def comparison(c):
    if not c:
        return ""
    rows = [[escape(d["name"]), escape(d["a"]), escape(d["b"]), d["suspicion"], escape(d["hint"])] for d in c["differences"]]
    ratio = "" if c["ratio"] is None else f' samples/s a rank: {plus_minus(c["ratio"], c["ratio_ci"], 3)},'
    return (f'<p>{escape(c["b"])} over {escape(c["a"])}:{ratio} <b>{escape(c["verdict"])}</b></p>' + notes(c["findings"], "finding")
            + (table(["what", "first", "second", "suspicion", ""], rows, (1, 2, 3, 4)) if rows else '<p class="finding healthy">nothing that is logged differs</p>'))


def environments(runs):
    content = ""
    for run in runs:
        rows = [[escape(k), escape(v)] for k, v in [*run["config"].items(), *run["environment"].items()] if v not in ("null", "default")]
        content += f'<details><summary>{escape(run["name"])}: {escape(run["directory"])}</summary>{table(["option or fact", "value"], rows, (1,))}</details>'
    return content


def embedded(value):
    """JSON inside a script element: no "</script>" can end it early."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def render(data):
    runs = data["runs"]
    title = f'Tandem: {len(runs)} run{"" if len(runs) == 1 else "s"}' + (f' of {runs[0]["model"]}' if len({r["model"] for r in runs}) == 1 else "")
    sections = [section("problems", "What could not be read", notes(data["problems"], "problem")),
                section("runs", "Runs", run_table(runs) if runs else ""),
                section("diagnosis", "Diagnosis", diagnosis(runs)),
                section("scaling", "Scaling efficiency", "".join(scaling(report) for report in data["scaling"])),
                section("waterfall", "Where the loss comes from", waterfalls(data)),
                section("steps", "Step by step", (charts.step_series(runs) + "".join(charts.clock_series(r) for r in runs)) if runs else ""),
                section("timeline", "Buckets in time, and other caps", timelines(runs)),
                section("sweep", "Cap and batch", sweeps(data)),
                section("bandwidth", "Bus bandwidth", bandwidth(data)),
                section("device", "Device", devices(runs)),
                section("comparison", "What changed between the first two", comparison(data["comparison"])),
                section("environment", "Options and environment", environments(runs))]
    links = "".join(f'<a href="#{name}">{label}</a>' for name, label in [("diagnosis", "diagnosis"), ("scaling", "scaling"), ("waterfall", "loss"), ("steps", "steps"),
                    ("timeline", "buckets"), ("environment", "environment")] if any(f'id="{name}"' in s for s in sections))
    read = lambda name: (HERE / name).read_text(encoding="utf-8")
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>{escape(title)}</title><style>{read("style.css")}</style></head><body><h1>{escape(title)}</h1>'
            f'<p class="lead">Every figure was computed by <code>tandem</code>, from the step logs; docs/measuring.md defines them. Point at a mark to read it.</p><nav>{links}</nav>'
            f'{"".join(sections)}<script>{read("schedule.js")}\n{read("timeline.js")}</script></body></html>\n')
