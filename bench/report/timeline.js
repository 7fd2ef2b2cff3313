// Draws each run's bucket timeline and its slider. Data: the script element of class "timeline" in each section.
"use strict";
(() => {
  const MIB = 1 << 20, WIDTH = 960, LEFT = 74, ROW = 16;
  const draw = (tag, attributes, parent, content) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (content !== undefined) element.textContent = content;
    parent.appendChild(element);
    return element;
  };
  const ms = (us) => (us / 1000).toFixed(2);

  // Rows of one rank: compute, then a row a bucket (at most 24: then several share one).
  function drawRank(svg, y, rank, rows, x) {
    const box = (row, from, to, css, hint) => {
      const rect = draw("rect", {x: x(from), y: y + row * ROW + 2, width: Math.max(1, x(to) - x(from)), height: ROW - 4, class: css}, svg);
      draw("title", {}, rect, `${hint}: ${ms(from)} to ${ms(to)} ms`);
    };
    draw("text", {x: 4, y: y + 12}, svg, `rank ${rank.rank}`);
    for (const phase of rank.phases) box(0, phase.start_us, phase.end_us, `phase ${phase.phase}`, phase.phase);
    rank.buckets.forEach((bucket, k) => {
      const row = 1 + k % rows;
      if (bucket.wait_end_us > bucket.wait_start_us + 2) box(0, bucket.wait_start_us, bucket.wait_end_us, "phase wait", `wait for bucket ${k}`);
      box(row, bucket.ready_us, bucket.start_us, "queue", `bucket ${k} waits for its turn`);
      box(row, bucket.start_us, bucket.end_us, "collective", `bucket ${k}, ${(bucket.bytes / MIB).toFixed(3)} MiB`);
    });
  }

  function drawTimeline(holder, ranks, longest) {
    holder.textContent = "";
    const rows = Math.min(24, Math.max(1, ...ranks.map((r) => r.buckets.length)));
    const height = ranks.length * (rows + 1.6) * ROW + 24;
    const svg = draw("svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "bucket timeline"}, holder);
    const x = (us) => LEFT + us / longest * (WIDTH - LEFT - 8);
    for (let i = 0; i <= 8; ++i) {
      const us = longest * i / 8;
      draw("line", {x1: x(us), x2: x(us), y1: 0, y2: height - 20, class: "grid"}, svg);
      draw("text", {x: x(us), y: height - 6, "text-anchor": i === 8 ? "end" : "middle"}, svg, `${ms(us)}${i === 8 ? " ms" : ""}`);
    }
    ranks.forEach((rank, i) => drawRank(svg, i * (rows + 1.6) * ROW, rank, rows, x));
  }

  // A replayed rank in the form in which a measured one is drawn.
  function drawn(measured, replayed) {
    const before = measured.phases.filter((p) => p.phase === "data" || p.phase === "forward");
    const start = Math.min(...measured.phases.filter((p) => p.phase === "backward").map((p) => p.start_us));
    let at = replayed.backward_end_us;
    const buckets = replayed.buckets.map((b) => {
      const waitStart = at;
      at = b.updated_us;
      return {...b, wait_start_us: waitStart, wait_end_us: waitStart + b.wait_us};
    });
    return {rank: measured.rank, buckets, phases: [...before, {phase: "backward", start_us: start, end_us: replayed.backward_end_us},
      {phase: "optimizer", start_us: replayed.backward_end_us, end_us: replayed.step_us}]};
  }

  function show(section, step) {
    const find = (name) => section.querySelector(`.${name}`);
    const measured = Math.max(...step.ranks.map((r) => r.step_us));
    const asRun = predict(step, step.link, null, 0).step_us;
    const total = step.ranks[0].buckets.reduce((s, b) => s + b.bytes, 0);
    const slider = find("cap"), low = Math.log2(Math.max(total / 64, 1024)), high = Math.log2(total);
    const longest = 1.05 * Math.max(measured, asRun);
    drawTimeline(find("measured"), step.ranks, longest);
    const update = () => {
      const cap = 2 ** (low + (high - low) * slider.value / slider.max);
      const result = predict(step, step.link, cap, Math.min(cap, step.first_cap));
      find("cap-text").textContent = `${(cap / MIB).toPrecision(3)} MiB`;
      find("prediction").textContent = `${ms(result.step_us)} ms in ${result.buckets} bucket${result.buckets === 1 ? "" : "s"}`;
      drawTimeline(find("replayed"), result.ranks.map((r, i) => drawn(step.ranks[i], r)), Math.max(longest, 1.02 * result.step_us));
    };
    find("as-run").textContent = `measured ${ms(measured)} ms; the replay gives ${ms(asRun)} ms for the buckets as they were`;
    slider.value = Math.round(slider.max * Math.min(1, Math.max(0, (Math.log2(step.cap) - low) / (high - low))));
    slider.addEventListener("input", update);
    update();
  }

  for (const data of document.querySelectorAll("script.timeline")) show(data.closest("section"), JSON.parse(data.textContent));
})();
