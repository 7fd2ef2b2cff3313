// Replays a step for other buckets: core/telemetry/schedule.cpp once more, for the page's slider. Microseconds, bytes.
// The rules, and no others:
//   1. A collective of n bytes takes alpha + n · us_per_byte.
//   2. Compute is one sequence; while a collective runs, 1 µs of its work takes `slowdown` µs.
//   3. A bucket is ready when compute has reached ready_us of it and of every one before; without overlap, the end of backward.
//   4. Its collective starts at the later of its being ready and the end of the one before.
//   5. After backward compute takes the buckets in order: it waits for the collective, then updates. With wait_for_all
//      (clipping) it first waits for all, then works clip_us, then all updates.
//   6. The step ends after rest_us more.
"use strict";

class Compute {
  constructor(launched, slowdown) {
    Object.assign(this, {launched, slowdown, now: 0, done: 0, collective: 0});
  }
  work(us) {
    for (; this.collective < this.launched.length && us > 0; ++this.collective) {
      const c = this.launched[this.collective];
      if (c.end_us <= this.now) continue;
      const before = Math.min(us, Math.max(0, c.start_us - this.now));
      this.now += before;
      us -= before;
      const beside = Math.min(us * this.slowdown, c.end_us - Math.max(this.now, c.start_us));
      if (us <= 0) return;
      this.now += beside;
      us -= beside / this.slowdown;
      if (this.now < c.end_us) return;
    }
    this.now += Math.max(0, us);
  }
  workTo(us) {
    if (us <= this.done) return;
    this.work(us - this.done);
    this.done = us;
  }
  waitUntil(us) {
    const waited = Math.max(0, us - this.now);
    this.now += waited;
    return waited;
  }
}

// work: {gradients: [{bytes, ready_us, update_us}] (buckets), backward_end_us, clip_us, rest_us, wait_for_all, overlap}.
function replay(work, link, slowdown) {
  const buckets = [], compute = new Compute(buckets, slowdown);
  for (const bucket of work.gradients) {
    compute.workTo(work.overlap ? bucket.ready_us : work.backward_end_us);
    const before = buckets.length ? buckets[buckets.length - 1].end_us : 0;
    const start = Math.max(compute.now, before);
    buckets.push({bytes: bucket.bytes, ready_us: compute.now, start_us: start,
                  end_us: start + link.alpha_us + bucket.bytes * link.us_per_byte, wait_us: 0});
  }
  compute.workTo(work.backward_end_us);
  const backward_end_us = compute.now;
  if (work.wait_for_all) {
    for (const bucket of buckets) bucket.wait_us = compute.waitUntil(bucket.end_us);
    compute.work(work.clip_us);
  }
  buckets.forEach((bucket, k) => {
    if (!work.wait_for_all) bucket.wait_us = compute.waitUntil(bucket.end_us);
    compute.work(work.gradients[k].update_us);
    bucket.updated_us = compute.now;
  });
  compute.work(work.rest_us);
  return {buckets, backward_end_us, step_us: compute.now, exposed_us: buckets.reduce((s, b) => s + b.wait_us, 0)};
}

// What the rank computed in a measured step, without its waits and without what collectives slowed it by.
function workOf(step, clipped, overlap, slowdown) {
  const backward = step.phases.filter((p) => p.phase === "backward");
  const end = Math.max(...backward.map((p) => p.end_us));
  const beside = (until) => step.buckets.reduce((s, b) => s + Math.max(0, Math.min(b.end_us, until) - b.start_us), 0);
  const alone = (us) => us - beside(us) * (1 - 1 / slowdown);
  const work = {gradients: [], backward_end_us: alone(end), clip_us: 0, rest_us: 0, wait_for_all: clipped, overlap};
  let before = end, spent = end;
  step.buckets.forEach((b, k) => {
    const released = Math.max(before, b.wait_end_us), applied = Math.max(released, b.applied_us ?? released);
    const first = clipped && k === 0;
    if (first) work.clip_us = Math.max(0, applied - Math.max(end, step.buckets[step.buckets.length - 1].wait_end_us));
    const update = first ? 0 : applied - released;
    work.gradients.push({bytes: b.bytes, ready_us: alone(Math.min(b.ready_us, end)), update_us: update});
    spent += update;
    before = applied;
  });
  const waited = step.buckets.reduce((s, b) => s + Math.max(0, b.wait_end_us - Math.max(b.wait_start_us, end)), 0);
  work.rest_us = Math.max(0, step.step_us - spent - work.clip_us - waited);
  return work;
}

// The gradient in pieces of at most `most` bytes, each final as the measured buckets say: within one, evenly over its bytes.
function pieces(work, most) {
  const cut = [];
  let before = work.gradients.length ? Math.min(work.gradients[0].ready_us, firstReady(work)) : 0;
  for (const bucket of work.gradients) {
    const count = Math.max(1, Math.ceil(bucket.bytes / most));
    for (let i = 1; i <= count; ++i)
      cut.push({bytes: bucket.bytes / count, ready_us: before + (bucket.ready_us - before) * i / count, update_us: bucket.update_us / count});
    before = Math.max(before, bucket.ready_us);
  }
  return cut;
}

// Where backward made its first gradient, at the rate at which it made the rest.
function firstReady(work) {
  const total = work.gradients.reduce((s, g) => s + g.bytes, 0), first = work.gradients[0];
  const later = total - first.bytes;
  return later > 0 ? Math.max(0, first.ready_us - first.bytes * (work.backward_end_us - first.ready_us) / later) : first.ready_us;
}

// The work in buckets of at most `cap` bytes, the first of at most `firstCap`.
function bucketed(work, cap, firstCap) {
  const buckets = [];
  for (const piece of pieces(work, Math.max(1024, Math.min(cap, firstCap) / 4))) {
    const last = buckets[buckets.length - 1];
    const room = buckets.length <= 1 ? Math.min(firstCap, cap) : cap;
    if (last && last.bytes + piece.bytes <= room * (1 + 1e-9)) {
      last.bytes += piece.bytes;
      last.update_us += piece.update_us;
      last.ready_us = Math.max(last.ready_us, piece.ready_us);
    } else {
      buckets.push({...piece});
    }
  }
  return {...work, gradients: buckets};
}

// Every rank's step for a cap in bytes (null: the buckets as they were); all wait for the slowest.
function predict(step, link, cap, firstCap) {
  const ranks = step.ranks.map((rank) => {
    const work = workOf(rank, step.clipped, step.overlap, link.slowdown);
    return {rank: rank.rank, ...replay(cap === null ? work : bucketed(work, cap, firstCap), link, link.slowdown)};
  });
  return {ranks, step_us: Math.max(...ranks.map((r) => r.step_us)), buckets: ranks[0].buckets.length};
}
