"""A made-up document as `tandem report` hands it to bench/report: two runs, a scaling, a sweep, collectives, a GPU."""
import copy

BUCKETS = [{"id": 0, "bytes": 1 << 20, "reductions": 1, "transfer_ms": 1.1, "wait_ms": [0, 0], "busbw_gb_s": 0.95},
           {"id": 1, "bytes": 4 << 20, "reductions": 1, "transfer_ms": 4.1, "wait_ms": [0, 0], "busbw_gb_s": 1.02}]


def typical(late=0):
    def rank(r):
        shift = late * r
        return {"rank": r, "step_us": 31000 + shift,
                "phases": [{"phase": "data", "start_us": 0, "end_us": 100 + shift}, {"phase": "forward", "start_us": 100 + shift, "end_us": 10000 + shift},
                           {"phase": "backward", "start_us": 10000 + shift, "end_us": 25000 + shift}, {"phase": "optimizer", "start_us": 25000 + shift, "end_us": 31000 + shift}],
                "buckets": [{"id": 0, "bytes": 1 << 20, "ready_us": 13000 + shift, "start_us": 13000 + shift, "end_us": 14100 + shift,
                             "wait_start_us": 25000 + shift, "wait_end_us": 25000 + shift, "applied_us": 25400 + shift},
                            {"id": 1, "bytes": 4 << 20, "ready_us": 25000 + shift, "start_us": 25000 + shift, "end_us": 29100 + shift,
                             "wait_start_us": 25400 + shift, "wait_end_us": 29100 + shift, "applied_us": 31000 + shift}]}
    return {"step": 60, "ranks": [rank(0), rank(1)]}


def run(name, step_ms=31.0, findings=(), injected=()):
    return {"name": name, "directory": f"runs/{name}", "model": "gpt-nano", "parameters": 1000, "dtype": "fp32", "optimizer": "adamw", "ranks": 2, "batch": 8,
            "accumulate": 1, "global_batch": 16, "ddp": True, "communicate": True, "injected": list(injected), "problems": [],
            "summary": {"window": {"first": 50, "last": 99, "steps": 50, "short": True}, "step_ms": step_ms, "step_ms_ci": [step_ms - 0.4, step_ms + 0.4],
                        "samples_per_s": 16e3 / step_ms, "exposed_comm_ms": 3.7, "overlap_ratio": 0.29, "skew": 0.01, "steady": True, "not_steady_because": None,
                        "findings": list(findings), "backward_ms": 15.0, "buckets": copy.deepcopy(BUCKETS)},
            "series": {"step": list(range(100)), "step_ms": [step_ms + (k % 7) * 0.1 for k in range(100)], "loss": [5 - k / 50 for k in range(100)],
                       "exposed_ms": [3.7] * 100, "sm_mhz": [1980 - k % 3 for k in range(100)]},
            "events": [{"step": 50, "kind": "evaluation", "duration_ms": 12.0, "text": "loss <3>"}], "typical": typical(),
            "device": [{"util_pct": 97, "sm_pct": 31, "tensor_pct": 12, "dram_pct": 20}], "config": {"bucket_mb": "4", "first_bucket_mb": "1", "clip": "0"},
            "environment": {"cpu_model": "X </script><b>", "gpu.driver": "null"}}


def record(ranks, step_ms, efficiency, ci):
    return {"run": f"{ranks} ranks", "ranks": ranks, "regime": "weak", "batch": 8, "global_batch": 8 * ranks, "step_ms": step_ms, "step_ms_ci": [step_ms - 0.2, step_ms + 0.2],
            "samples_per_s": 8e3 * ranks / step_ms, "speedup": efficiency * ranks, "efficiency_weak": efficiency, "efficiency_ci": ci, "verdict": "healthy"}


def document():
    return {"version": 1, "sources": ["series"], "problems": ["runs/broken/run.json is cut off or not JSON"],
            "runs": [run("before"), run("after", 33.0, ["straggler: rank 1 works 33.00 ms"], ["slow=1:5"])],
            "scaling": [{"records": [record(1, 27.0, 1.0, None), record(2, 31.0, 0.871, [0.85, 0.89]), record(4, 34.0, 0.794, [0.77, 0.81])], "notes": ["two launches"]}],
            "waterfalls": [{"name": "2 ranks", "regime": "weak", "baseline": "plain", "ideal_ms": 27.0, "step_ms": 31.0, "loss_ms": 4.0,
                            "parts": [{"name": "compute", "ms": 0.2}, {"name": "exposed transfer", "ms": 3.1}, {"name": "exposed wait", "ms": 0.8}, {"name": "data", "ms": -0.05}],
                            "residual_ms": -0.05, "explained": True}],
            "sweeps": [{"records": [{"bucket_mb": cap, "batch": b, "ratio": 1 + 0.1 * i + 0.02 * k, "step_ms": 30 + i, "samples_per_s": 500.0, "verdict": "slower" if i + k else "best"}
                                    for i, cap in enumerate([1, 5, 25]) for k, b in enumerate([8, 32])], "notes": []}],
            "collectives": [{"records": [{"operation": "all-reduce", "bytes": 1 << s, "busbw_gb_s": 0.1 * s} for s in range(10, 24, 2)]}],
            "comparison": {"a": "runs/before", "b": "runs/after", "verdict": "slower", "findings": [], "ratio": 0.94, "ratio_ci": [0.92, 0.96],
                           "differences": [{"name": "inject", "a": "default", "b": "slow=1:5", "suspicion": "certain", "hint": "a fault to order"}]}}
