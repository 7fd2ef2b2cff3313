#!/usr/bin/env python3
"""Runs build/train as a user does: alone, under mpirun and with --ranks; reads what it prints, its exit code and its logs.

    train_test.py TRAIN [unittest options]      TRAIN: path of the program
"""
import glob
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TRAIN = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
MODEL = "--model mlp --mlp-sizes 16,32,4 --optimizer sgd --device cpu".split()
SMALL = [*MODEL, "--data", "synthetic:512", "--batch", "8"]


def start(*options, ranks=0):
    if "--device" not in options:  # these tests start more ranks than there may be GPUs
        options = (*options, "--device", "cpu")
    command = (["mpirun", "-np", str(ranks)] if ranks else []) + [TRAIN, *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


class Result:
    def __init__(self, process, seconds=90):
        begin = time.monotonic()
        self.out, self.err = process.communicate(timeout=seconds)
        self.code, self.seconds = process.returncode, time.monotonic() - begin
        self.complaints = [line for line in self.err.splitlines() if line.startswith("tandem: ")]


def run(*options, ranks=0):
    return Result(start(*options, ranks=ranks))


class TrainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runs = 0

    def log_dir(self):
        self.runs += 1
        return self.folder / f"run{self.runs}"

    def train(self, *options, ranks=0):
        """A run that must succeed: its result and its folder."""
        folder = self.log_dir()
        result = run(*options, "--log-dir", folder, ranks=ranks)
        self.assertEqual(result.code, 0, result.err + result.out)
        return result, folder

    def steps(self, folder, rank=0):
        return [json.loads(line) for line in (folder / f"steps.rank{rank}.jsonl").read_text().splitlines()]

    def events(self, folder):
        return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]

    def hash_of(self, result):
        return re.search(r"Parameters: hash ([0-9a-f]{16})", result.out).group(1)


class BadInput(TrainTest):
    def refuse(self, pattern, *options, ranks=0):
        result = run(*options, "--log-dir", self.log_dir(), ranks=ranks)
        self.assertEqual(result.code, 2, result.err + result.out)
        self.assertEqual(len(result.complaints), 1, result.err)
        self.assertRegex(result.complaints[0], pattern)
        self.assertLess(result.seconds, 5 if ranks else 2)  # mpirun itself takes up to a second on a busy machine
        self.assertNotIn("step ", result.out)

    def test_options(self):
        for pattern, options in [
            ("--no-such", ["--no-such"]),
            ("--batch -1: .*from 1", ["--batch", -1]),
            ("--batch 0", ["--batch", 0]),
            ("--batch.*1.5", ["--batch", 1.5]),
            ("--batch.*x", ["--batch", "x"]),
            ("--bucket-mb 0: .*above 0", ["--bucket-mb", 0]),
            ("--bucket-mb -5", ["--bucket-mb", -5]),
            ("--bucket-mb nan", ["--bucket-mb", "nan"]),
            ("--bucket-mb inf", ["--bucket-mb", "inf"]),
            ("--bucket-mb.*fast: .*or auto", ["--bucket-mb", "fast"]),
            ("--bucket-mb auto and --no-comm", ["--bucket-mb", "auto", "--no-comm"]),
            ("--bucket-mb auto and --sync-every", ["--bucket-mb", "auto", "--sync-every-micro-batch"]),
            ("--no-ddp and --bucket-mb", ["--no-ddp", "--bucket-mb", "auto"]),
            ("--first-bucket-mb 0", ["--first-bucket-mb", 0]),
            ("--lr nan", ["--lr", "nan"]),
            ("--lr -", ["--lr", -1]),
            ("--clip -1", ["--clip", -1]),
            ("--betas 1", ["--betas", "1,0.9"]),
            ("--betas", ["--betas", "0.9"]),
            ("--steps 0", ["--steps", 0]),
            ("--steps -1", ["--steps", -1, "--export", self.folder / "out"]),
            ("--init is empty", ["--init", ""]),
            ("--export is empty", ["--export", ""]),
            ("--no-comm and --export", ["--no-comm", "--export", self.folder / "out"]),
            ("--export /proc/nowhere: cannot be written", ["--export", "/proc/nowhere"]),
            ("missing.safetensors: No such file", ["--init", self.folder / "missing.safetensors"]),
            ("--workers -1", ["--workers", -1]),
            ("--prefetch 0", ["--prefetch", 0]),
            ("--accumulate 0", ["--accumulate", 0]),
            ("--seed", ["--seed", "18446744073709551616"]),
            ("--heads.*--width|heads", ["--heads", 3]),
            ("--layers 0", ["--layers", 0]),
            ("--vocab", ["--vocab", 0]),
            ("--model.*gpt9|gpt9", ["--model", "gpt9"]),
            ("--optimizer adam:.*adamw", ["--optimizer", "adam"]),
            ("--schedule", ["--schedule", "step"]),
            ("--bucket-order", ["--bucket-order", "random"]),
            ("--probe", ["--probe", "all"]),
            ("--bind", ["--bind", "core"]),
            *([] if glob.glob("/dev/nvidia[0-9]*") else [("--device cuda", ["--device", "cuda"])]),
            ("--precision bf16", ["--precision", "bf16", "--device", "cpu"]),
            ("--precision fp16", ["--precision", "fp16"]),
            ("--threads and --device cuda", ["--threads", 2, "--device", "cuda"]),
            ("--threads and --precision bf16", ["--threads", 2, "--precision", "bf16"]),
            ("--grad-dtype bf16", ["--grad-dtype", "bf16"]),
            ("--grad-dtype bf16 and --accumulate 2",
             ["--precision", "bf16", "--grad-dtype", "bf16", "--accumulate", 2]),
            ("--probe-every 9", ["--probe-every", 9]),
            ("--cuda-graph yes", ["--cuda-graph", "yes"]),
            ("--recompute some", ["--recompute", "some"]),
            ("--recompute.*gpt", ["--model", "mlp", "--recompute", "block"]),
            ("--steps and --epochs", ["--steps", 5, "--epochs", 1]),
            ("--batch and --global-batch", ["--batch", 8, "--global-batch", 16]),
            ("--global-batch 10.*multiple", ["--global-batch", 10, "--accumulate", 4]),
            ("--momentum", ["--momentum", 0.9]),
            ("--betas", ["--optimizer", "sgd", "--betas", "0.9,0.95"]),
            ("--nesterov", ["--optimizer", "sgd", "--nesterov"]),
            ("--mlp-sizes", ["--mlp-sizes", "784,10"]),
            ("--layers", ["--model", "mlp", "--layers", 2]),
            ("--no-ddp and --no-comm", ["--no-ddp", "--no-comm"]),
            ("--no-ddp and --bucket-mb", ["--no-ddp", "--bucket-mb", 5]),
            ("--no-ddp and --sync-every-micro-batch", ["--no-ddp", "--accumulate", 2, "--sync-every-micro-batch"]),
            ("--no-comm and --sync-every-micro-batch", ["--no-comm", "--accumulate", 2, "--sync-every-micro-batch"]),
            ("--no-ddp and --reduce-dtype", ["--no-ddp", "--precision", "bf16", "--reduce-dtype", "fp32"]),
            ("--no-comm and --reduce-dtype", ["--no-comm", "--precision", "bf16", "--reduce-dtype", "fp32"]),
            ("--reduce-dtype and --comm-hook|--comm-hook bf16", ["--precision", "bf16", "--reduce-dtype", "fp32", "--comm-hook", "bf16"]),
            ("--comm-hook int8: .*powersgd:RANK", ["--comm-hook", "int8"]),
            ("--comm-hook powersgd:0: .*from 1", ["--comm-hook", "powersgd:0"]),
            ("--comm-hook powersgd:two", ["--comm-hook", "powersgd:two"]),
            ("--comm-hook powersgd", ["--comm-hook", "powersgd"]),
            ("--comm-hook bf16 .*--grad-dtype fp32", ["--comm-hook", "bf16", "--precision", "bf16"]),
            ("--reduce-dtype bf16", ["--reduce-dtype", "bf16"]),
            ("--reduce-dtype fp32 is for", ["--reduce-dtype", "fp32"]),
            ("--reduce-dtype fp32 is for", ["--reduce-dtype", "fp32", "--precision", "bf16", "--grad-dtype", "fp32"]),
            ("--no-ddp and --comm-hook", ["--no-ddp", "--comm-hook", "bf16"]),
            ("--no-comm and --comm-hook", ["--no-comm", "--comm-hook", "bf16"]),
            ("--zero 2: .*0 to 1", ["--zero", 2]),
            ("--no-ddp and --zero", ["--no-ddp", "--zero", 1]),
            ("--no-comm and --zero", ["--no-comm", "--zero", 1]),
            ("--sync-every-micro-batch and --zero", ["--accumulate", 2, "--sync-every-micro-batch", "--zero", 1]),
            ("--window", ["--window", "5"]),
            ("--window", ["--window", "9:3"]),
            ("--window", ["--window", "0:400"]),
            ("--explain-step", ["--explain-step", 300]),
            ("--explain-step.*--probe", ["--explain-step", 3, "--probe", "step"]),
            ("--warmup-steps", ["--warmup-steps", 301]),
            ("slow=x", ["--inject", "slow=x"]),
            ("slow=1:20", ["--inject", "slow=1:20"]),
            ("throw=0", ["--inject", "throw=0"]),
            ("--config.*missing|missing.*toml", ["--config", self.folder / "missing.toml"]),
        ]:
            with self.subTest(options=options):
                self.refuse(pattern, *options)

    def test_every_rank_exits_and_one_speaks(self):
        self.refuse("--bucket-mb 0", "--bucket-mb", 0, ranks=2)
        self.refuse("no-such-file", "--data", f"text:{self.folder}/no-such-file", ranks=2)
        self.refuse("--no-ddp", "--no-ddp", *SMALL, ranks=2)
        self.refuse("--ranks", "--ranks", 2, ranks=2)

    def test_data(self):
        def file(name, content):
            path = self.folder / name
            path.write_bytes(content)
            return path

        header = struct.pack("<3i", 20240520, 1, 1000) + bytes(1024 - 12)
        tokens = struct.pack("<1000H", *[7] * 1000)
        for pattern, spec in [
            ("kind", "nonsense"),
            ("path|nothing", "text:"),
            ("missing", f"text:{self.folder}/missing"),
            ("empty", f"text:{file('empty', b'')}"),
            ("magic|llm.c", f"tokens:{file('foreign.bin', bytes(4096))}"),
            ("short|1024|header", f"tokens:{file('short.bin', header[:500])}"),
            ("1000", f"tokens:{file('count.bin', header + tokens[:-10])}"),
            ("300", f"tokens:{file('range.bin', header + tokens[:-2] + struct.pack('<H', 300))}"),
            ("missing", f"tokens:{self.folder}/missing*.bin"),
            ("odd|bytes|uint16", f"tokens-raw:{file('odd.bin', tokens + b'x')}"),
            ("batch", f"text:{file('few', bytes(range(32, 127)) * 3)}"),
            ("gpt|idx", f"idx:{self.folder}"),
        ]:
            with self.subTest(spec=spec):
                self.refuse(pattern, "--data", spec)
        self.refuse("idx|labels|images", "--model", "mlp", "--data", f"idx:{self.folder}")
        self.refuse("batch", *MODEL, "--data", "synthetic:500", "--batch", 600)

    def test_log_dir(self):
        for path in ["/dev/null/x", "/proc/nowhere"]:
            result = run(*SMALL, "--log-dir", path, ranks=2)
            self.assertEqual((result.code, len(result.complaints)), (2, 1), result.err)
            self.assertIn(path, result.complaints[0])


class Runs(TrainTest):
    def test_help_and_version(self):
        for option, expected in [("--help", "--bucket-mb"), ("--version", "tandem 0.")]:
            result = run(option)
            self.assertEqual(result.code, 0)
            self.assertIn(expected, result.out)

    def test_dry_run_trains_nothing(self):
        folder = self.log_dir()
        result = run("--dry-run", "--model", "gpt2", "--log-dir", folder)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("124.5 M parameters", result.out)
        self.assertFalse(folder.exists())

    def test_a_plan_that_does_not_fit_is_refused_with_what_would(self):
        huge = ["--model", "gpt2-xl", "--batch", 10000, "--data", "synthetic"]
        for ranks in (0, 2):
            result = run(*huge, "--log-dir", self.log_dir(), ranks=ranks)
            self.assertEqual(result.code, 2, result.err)
            self.assertRegex(result.err, r"the plan takes .* are missing")
            self.assertEqual(result.err.count("tandem: "), 1, result.err)
        self.assertEqual(run(*huge, "--dry-run").code, 0)  # to look at is free
        wide = ["--layers", 1, "--width", 64, "--heads", 1, "--seq", 1024, "--batch", 2**22]
        result = run(*wide, "--data", "synthetic:4194304")
        self.assertEqual(result.code, 2, result.err)
        self.assertRegex(result.err, r"would fit with one of: .*--batch \d+ \(")

    def test_recomputing_changes_no_bit(self):
        hashes = set()
        for what in ("none", "gelu", "block"):
            result, _ = self.train("--model", "gpt-nano", "--layers", 3, "--width", 32, "--heads", 2, "--seq", 16,
                                   "--batch", 2, "--steps", 5, "--recompute", what, ranks=2)
            hashes.add(re.search(r"hash (\w+)", result.out)[1])
        self.assertEqual(len(hashes), 1)

    def test_in_a_pipe_lines_are_plain(self):
        for options, ranks in [([], 0), ([], 2), (["--ranks", 2], 0)]:
            result, _ = self.train(*SMALL, "--steps", 25, *options, ranks=ranks)
            self.assertNotIn("\x1b", result.out)
            self.assertEqual(re.findall(r"^step +(\d+)/25", result.out, re.MULTILINE), ["10", "20"])

    def test_config_file(self):
        config = self.folder / "run.toml"
        config.write_text('model = "mlp"\nmlp-sizes = [16, 32, 4]\nsteps = 3\noptimizer = "sgd"\n')
        _, folder = self.train("--config", config, "--data", "synthetic:512")
        self.assertEqual(len(self.steps(folder)), 3)

    def test_default_run_needs_no_options(self):
        _, folder = self.train("--steps", 3)
        facts = json.loads((folder / "run.json").read_text())
        self.assertEqual((facts["model"]["name"], facts["batch"], facts["seed"]), ("gpt-nano", 8, 0))
        self.assertAlmostEqual(self.steps(folder)[0]["loss"], 5.5, delta=0.3)  # about ln 256 at first

    def test_step_times_tile_the_wall_time(self):
        begin = time.monotonic()
        _, folder = self.train(*SMALL, "--steps", 60, "--eval-every", 20, "--val-data", "synthetic:512", ranks=2)
        wall = 1e3 * (time.monotonic() - begin)
        between = {}
        for event in self.events(folder):
            if not event["inside_step"]:
                between[event["step"]] = between.get(event["step"], 0) + event["duration_ms"]
        self.assertEqual(sorted(between), [19, 39, 59])
        for rank in range(2):
            steps = self.steps(folder, rank)
            self.assertEqual([s["step"] for s in steps], list(range(60)))
            for before, after in zip(steps, steps[1:]):
                gap = after["start_ms"] - before["start_ms"] - before["step_ms"]
                expected = between.get(before["step"], 0) if rank == 0 else gap if before["step"] in between else 0
                self.assertAlmostEqual(gap, expected, delta=0.01)
            for s in steps:
                parts = ["data_wait_ms", "forward_ms", "backward_ms", "exposed_comm_ms", "optimizer_ms", "host_ms"]
                self.assertAlmostEqual(sum(s[p] for p in parts), s["step_ms"], delta=1e-3)
            last = steps[-1]
            self.assertLess(last["start_ms"] + last["step_ms"], wall)

    def test_parameters_do_not_depend_on_how_they_are_reduced(self):
        common = "--model mlp --mlp-sizes 16,256,256,4 --optimizer sgd --momentum 0.9 --data synthetic:512 --steps 20".split()
        hashes = set()
        for options in [[], ["--no-overlap"], ["--no-gradient-as-bucket-view"], ["--bucket-mb", 0.25], ["--bucket-mb", 100],
                        ["--bucket-order", "forward"], ["--bucket-order", "reverse", "--no-overlap", "--bucket-mb", 0.1]]:
            result, _ = self.train(*common, *options, ranks=2)
            self.assertIn("the same on all ranks", result.out)
            hashes.add(self.hash_of(result))
        threads, _ = self.train(*common, "--threads", 2)
        hashes.add(self.hash_of(threads))
        self.assertEqual(len(hashes), 1)
        alone, _ = self.train(*common, "--no-comm", ranks=2)
        self.assertNotIn(self.hash_of(alone), hashes)
        self.assertIn("diverge", alone.out)

    def wide(self, *options, **ranks):
        """Trains a model of several buckets."""
        caps = [] if "--bucket-mb" in options else ["--bucket-mb", 0.1]
        common = "--model mlp --mlp-sizes 16,256,256,4 --data synthetic:512 --steps 20".split()
        return self.train(*common, *caps, *options, **(ranks or {"ranks": 2}))

    def test_zero_changes_no_bit_and_halves_the_state(self):
        for optimizer in [["--clip", 0.5], ["--optimizer", "sgd", "--momentum", 0.9]]:
            whole, _ = self.wide(*optimizer)
            for options in [[], ["--no-overlap"], ["--no-gradient-as-bucket-view"], ["--bucket-mb", 100], ["--bucket-order", "forward"]]:
                sharded, folder = self.wide(*optimizer, "--zero", 1, *options)
                self.assertEqual(self.hash_of(sharded), self.hash_of(whole))
            facts = json.loads((folder / "run.json").read_text())
            self.assertEqual((facts["zero"], len(facts["buckets"]["other_collectives"])),
                             (1, len(facts["buckets"]["made"]) + 2 * ("--clip" in optimizer)))
        common = ["--accumulate", 2, "--clip", 0.5]
        whole, _ = self.wide(*common)
        threads, _ = self.wide(*common, "--zero", 1, "--eval-every", 5, "--val-data", "synthetic:64", "--threads", 2, ranks=0)
        self.assertEqual(self.hash_of(threads), self.hash_of(whole))

    def test_what_zero_gathers_is_seen(self):
        _, folder = self.wide("--zero", 1)
        buckets = len(json.loads((folder / "run.json").read_text())["buckets"]["made"])
        for rank in range(2):
            steps = self.steps(folder, rank)
            for step in steps:
                self.assertEqual(sorted(b["id"] for b in step["buckets"]), list(range(2 * buckets)))
                parts = ["data_wait_ms", "forward_ms", "backward_ms", "exposed_comm_ms", "optimizer_ms", "host_ms"]
                self.assertAlmostEqual(sum(step[p] for p in parts), step["step_ms"], delta=1e-3)
            # Each bucket is waited for in the next step's forward, which is no longer for it: the wait is exposed communication.
            self.assertGreater(min(s["exposed_comm_ms"] for s in steps[1:]), 0)

    def test_hooks_agree_over_ranks_and_do_not_depend_on_overlap(self):
        usual, _ = self.wide()
        hashes = {self.hash_of(usual)}
        for hook, share in [("bf16", 0.5), ("fp16", 0.5), ("powersgd:2", 0.1)]:
            ways = [[], ["--no-overlap"], ["--no-gradient-as-bucket-view"], ["--zero", 1]]
            runs = [self.wide("--comm-hook", hook, *way) for way in ways]
            self.assertEqual(len({self.hash_of(result) for result, _ in runs}), 1, hook)
            hashes.add(self.hash_of(runs[0][0]))
            self.assertIn("the same on all ranks", runs[0][0].out)
            folder = runs[0][1]
            made = json.loads((folder / "run.json").read_text())["buckets"]["made"]
            self.assertLessEqual(sum(b["wire_bytes"] for b in made), share * sum(b["bytes"] for b in made))
            for bucket in self.steps(folder)[3]["buckets"]:
                self.assertEqual(bucket["bytes"], made[bucket["id"]]["wire_bytes"])
        self.assertEqual(len(hashes), 4)
        self.wide("--comm-hook", "powersgd:1", "--accumulate", 2, "--sync-every-micro-batch")

    def test_pairs_of_options_train(self):
        """The pairs of docs/options.md that no other test has: they run, and replicas stay equal."""
        for options in ["--no-comm --no-overlap --clip 1 --accumulate 2 --bucket-mb 0.05 --bucket-order reverse",
                        "--clip 1 --accumulate 2 --sync-every-micro-batch",
                        "--comm-hook bf16 --accumulate 2 --clip 1 --bucket-mb 0.05 --bucket-order forward",
                        "--comm-hook fp16 --accumulate 2 --sync-every-micro-batch --clip 1",
                        "--comm-hook powersgd:2 --accumulate 2 --clip 1 --bucket-mb 0.05 --bucket-order reverse",
                        "--comm-hook bf16 --zero 1 --clip 1 --accumulate 2 --no-overlap"]:
            with self.subTest(options=options):
                result, _ = self.wide(*options.split())
                self.assertIn("NOT COMMUNICATED" if "--no-comm" in options else "the same on all ranks", result.out)

    def memory(self, *options, ranks=2):
        out = run("--model", "gpt2", "--dry-run", *options, ranks=ranks).out
        units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
        found = re.findall(r"(optimizer|communication) ([0-9.]+) ([KMG]?i?B)", out)
        return {name: float(number) * units[unit] for name, number, unit in found}

    def test_dry_run_shows_what_hooks_and_shards_take(self):
        usual, sharded, clipped = self.memory(), self.memory("--zero", 1), self.memory("--zero", 1, "--clip", 1)
        self.assertAlmostEqual(sharded["optimizer"], usual["optimizer"] / 2, delta=1e-3 * usual["optimizer"])
        self.assertNotIn("communication", usual)
        self.assertLess(clipped["communication"], 2 * 30 * 65536)
        gradients = usual["optimizer"] / 2
        self.assertAlmostEqual(self.memory("--comm-hook", "bf16")["communication"], gradients / 2, delta=1e-3 * gradients)
        self.assertGreater(self.memory("--comm-hook", "powersgd:2")["communication"], 0.95 * gradients)  # the errors

    def losses(self, *options, ranks=0):
        return [s["loss"] for s in self.steps(self.train(*options, ranks=ranks)[1])]

    def test_ranks_and_accumulation_give_the_losses_of_one_large_batch(self):
        common = [*MODEL, "--steps", 40, "--data", "synthetic:300"]  # 300 is no multiple of 16: unequal last batches
        whole = self.losses(*common, "--batch", 16)
        for options, ranks in [(["--batch", 8], 2), (["--batch", 8, "--accumulate", 2], 0), (["--batch", 4, "--accumulate", 2], 2),
                               (["--batch", 4, "--accumulate", 2, "--sync-every-micro-batch"], 2), (["--batch", 16, "--no-ddp"], 0),
                               (["--global-batch", 16], 2)]:
            for a, b in zip(whole, self.losses(*common, *options, ranks=ranks)):
                self.assertAlmostEqual(a, b, delta=1e-5 * abs(a))

    def test_a_slow_rank_is_waited_for_and_named(self):
        result, folder = self.train(*SMALL, "--steps", 60, "--inject", "slow=1:20", ranks=2)
        self.assertIn("INJECTED slow=1:20", result.out)
        self.assertEqual(json.loads((folder / "run.json").read_text())["injected"], ["slow=1:20"])
        summary = json.loads((folder / "summary.json").read_text())
        self.assertTrue(any("straggler: rank 1" in finding for finding in summary["findings"]), summary["findings"])
        first = summary["buckets"][0]
        self.assertGreater(first["wait_ms"][0], 15)
        for other in [first["wait_ms"][1], first["transfer_ms"]]:  # small, but not 0 where the machine does other things, too
            self.assertLess(other, first["wait_ms"][0] / 2)

    def test_figures_can_be_computed_again_from_the_logs(self):
        _, folder = self.train(*SMALL, "--steps", 80, ranks=2)
        check = subprocess.run([sys.executable, ROOT / "scripts/recompute.py", "--check", folder], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_a_cap_that_trials_choose_trains_like_one_given(self):
        auto, folder = self.train(*SMALL, "--steps", 20, "--momentum", 0.9, "--bucket-mb", "auto", ranks=2)
        buckets = json.loads((folder / "run.json").read_text())["buckets"]
        choice = buckets["chosen"]
        self.assertEqual(choice["cap_mb"], buckets["asked_mb"])
        self.assertEqual(len(choice["work"]["gradients"]), 4)  # two layers with weight and bias
        self.assertIn(choice["cap_mb"], [c["cap_mb"] for c in choice["candidates"]])
        for candidate in choice["candidates"]:
            self.assertGreater(candidate["predicted_ms"], 0)
        self.assertIn("<- taken", auto.out)
        given, _ = self.train(*SMALL, "--steps", 20, "--momentum", 0.9, "--bucket-mb", choice["cap_mb"], ranks=2)
        self.assertEqual(self.hash_of(auto), self.hash_of(given))
        self.assertEqual(len(self.steps(folder)), 20)  # trials are not in the logs

    def test_trials_try_caps_that_differ(self):
        options = ["--model", "mlp", "--mlp-sizes", "64,512,512,512,10", "--optimizer", "sgd", "--data", "synthetic:512",
                   "--batch", 8, "--steps", 16, "--bucket-mb", "auto"]
        result, folder = self.train(*options, "--threads", 2)
        choice = json.loads((folder / "run.json").read_text())["buckets"]["chosen"]
        self.assertGreater(len(choice["candidates"]), 2)
        tried = [c for c in choice["candidates"] if c["measured_ms"]]
        for candidate in tried:
            self.assertEqual(len(candidate["measured_ms"]), 5)
        alone, _ = self.train(*options)  # one rank: nothing to choose
        self.assertNotIn("<- taken", alone.out)
        self.assertIn("--bucket-mb auto: one rank", alone.out)

    def test_a_stalling_loader_and_a_slow_link_are_named(self):
        stalled, _ = self.train(*SMALL, "--steps", 60, "--inject", "stall=loader:5", ranks=2)
        self.assertRegex(stalled.out, "(?m)^finding: data-bound: ")
        self.assertIn("INJECTED stall=loader:5", stalled.out)
        _, folder = self.train(*SMALL, "--steps", 30, "--inject", "link=1mbit", ranks=2)  # 125 kB/s one way: a byte takes 8 us
        self.assertIn(("injected fault", "link=1mbit"), [(e["event"], e["text"]) for e in self.events(folder)])
        for step in self.steps(folder, 1):
            for bucket in step["buckets"]:
                self.assertGreaterEqual(bucket["end_us"] - bucket["start_us"], 8 * bucket["bytes"])

    def test_a_nan_reaches_all_ranks(self):
        _, folder = self.train(*SMALL, "--steps", 6, "--inject", "nan=1@3", "--threads", 2)
        losses = [s["loss"] for s in self.steps(folder, 0)]
        self.assertNotIn(None, losses[:3])
        self.assertEqual(losses[3:], [None] * 3, "what is not finite is null")

    def test_explains_a_step(self):
        result, _ = self.train(*SMALL, "--steps", 20, "--explain-step", 15, ranks=2)
        self.assertIn("\nRank 1: ", result.out)
        self.assertIn("bucket 0", result.out)

    def test_fashion_mnist(self):
        data = "idx:/usr/share/datasets/fashion-mnist"
        result, _ = self.train("--model", "mlp", "--data", data, "--batch", 128, "--optimizer", "sgd", "--lr", 0.05,
                               "--momentum", 0.9, "--epochs", 1, ranks=2)
        accuracy = float(re.search(r"accuracy ([0-9.]+)%", result.out).group(1))
        self.assertGreater(accuracy, 78)  # one epoch; three give 86%


class Experiments(TrainTest):
    """`tandem` launches and compares runs; what it writes must follow from their step logs alone."""

    def tandem(self, *options):
        command = [pathlib.Path(TRAIN).parent / "tandem", *map(str, options)]
        return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=200)

    def test_scaling(self):
        out = self.folder / "scaling"
        result = self.tandem("scaling", "--np", "1,2", "--regime", "weak", "--quick", "--out", out, "--", *SMALL, "--steps", 60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 ranks", result.stdout)
        for name in ["scaling.json", "scaling.csv", "scaling.md"]:
            self.assertTrue((out / name).exists(), name)
        check = subprocess.run([sys.executable, ROOT / "scripts/recompute.py", "--check", out / "scaling.json"],
                               capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        again = self.tandem("scaling", "--from", *sorted((out / "runs").glob("round1.*")), "--out", self.folder / "again")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_prediction(self):
        _, one = self.train(*SMALL, "--steps", 40)
        result, two = self.train(*SMALL, "--steps", 40, ranks=2)
        self.assertRegex(result.out, r"outlook +2 ranks [0-9.]+ ms, 4 ranks [0-9.]+ ms, 8 ranks")
        links = self.folder / "links.json"
        links.write_text('{"levels": [{"ranks": 4, "alpha_us": 5, "gb_s": 10}, {"ranks": 64, "alpha_us": 20, "gb_s": 1}]}')
        for options in [[], ["--links", links]]:
            out = self.folder / f"predicted{len(options)}"
            result = self.tandem("scaling", "--from", one, two, "--regime", "weak", "--predict", "4,64", "--out", out, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("assuming", result.stdout)
            found = json.loads((out / "prediction.json").read_text())
            self.assertEqual([p["ranks"] for p in found["predictions"]], [4, 64])
            self.assertEqual(found["check"]["ranks"], 2)
            self.assertGreater(found["predictions"][1]["step_ms"], found["predictions"][0]["step_ms"])
        for pattern, options in [("65", ["--predict", 65, "--links", links]), ("--predict 0", ["--predict", 0]),
                                 ("--links", ["--links", links]), ("levels", ["--predict", 4, "--links", one / "run.json"]),
                                 ("no-such", ["--predict", 4, "--links", self.folder / "no-such"])]:
            with self.subTest(options=options):
                result = self.tandem("scaling", "--from", one, two, "--regime", "weak", *options)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertRegex(result.stderr, pattern)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        result = self.tandem("scaling", "--from", two, two, "--regime", "weak", "--predict", 4)
        self.assertEqual(result.returncode, 2)

    def test_unlike_runs_are_refused(self):
        _, a = self.train(*SMALL, "--steps", 30)
        _, b = self.train(*MODEL, "--data", "synthetic:512", "--batch", 16, "--steps", 30, ranks=2)
        result = self.tandem("scaling", "--from", a, b, "--regime", "weak")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_compare_trace_and_report(self):
        _, a = self.train(*SMALL, "--steps", 60, "--bucket-mb", 0.001, ranks=2)
        _, b = self.train(*SMALL, "--steps", 60, "--no-overlap", ranks=2)
        compared = self.tandem("compare", a, b)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertRegex(compared.stdout, "finding: two changes at once: .*bucket_mb.*overlap")
        traced = self.tandem("trace", a, "--steps", "20:29")
        self.assertRegex(traced.stdout, r"aligned to within [0-9.]+ us")
        trace = json.loads((a / "trace.json").read_text())
        names = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(sum(n.startswith("step ") for n in names), 20, "ten steps of two ranks")
        starts, ends = ([e["id"] for e in trace["traceEvents"] if e["ph"] == ph] for ph in "sf")
        self.assertEqual(sorted(starts), sorted(ends))
        self.assertGreater(len(starts), 20)
        self.assertEqual(self.tandem("trace", a, "--steps", "50:60").returncode, 2)

        page = self.folder / "page.html"
        shown = self.tandem("report", a, b, self.folder / "none", "--out", page)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        text = page.read_text()
        for part in [f"{self.folder}/none", "two changes at once", "class=\"timeline\"", a.name, b.name]:
            self.assertIn(part, text)

    def test_a_damaged_run_is_named_and_the_rest_reported(self):
        _, a = self.train(*SMALL, "--steps", 60, ranks=2)
        _, b = self.train(*SMALL, "--steps", 60, ranks=2)
        log = b / "steps.rank1.jsonl"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:40])[:-30])
        (b / "summary.json").unlink()
        compared = self.tandem("compare", a, b)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("steps.rank1.jsonl line 40 is cut off", compared.stdout)
        self.assertIn("samples/s a rank", compared.stdout)
        foreign = self.tandem("compare", a, self.folder)
        self.assertEqual(foreign.returncode, 2)
        self.assertIn("is no run", foreign.stderr)
        self.assertIn(f"{a}: mlp, P 2", foreign.stdout)

    def test_the_page_shows_what_scaling_prints(self):
        out, page = self.folder / "series", self.folder / "page.html"
        result = self.tandem("scaling", "--np", "1,2", "--regime", "weak", "--quick", "--out", out, "--", *SMALL, "--steps", 60)
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = self.tandem("report", out, "--out", page)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        text = page.read_text()
        for record in json.loads((out / "scaling.json").read_text())["records"]:
            self.assertIn(f"{100 * record['efficiency_weak']:.1f}", text)
            self.assertIn(f"{record['step_ms']:.2f}", text)
        self.assertIn("Where the loss comes from", text)

    def test_sweep(self):
        result = self.tandem("sweep", "--bucket-mb", "0.001,1", "--batch", 8, "--quick", "--out", self.folder / "sweep", "--",
                             *MODEL, "--data", "synthetic:512", "--steps", 60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("best", result.stdout)
        self.assertTrue((self.folder / "sweep" / "sweep.json").exists())


class Ends(TrainTest):
    LONG = [*SMALL, "--steps", 100000, "--inject", "slow=0:5"]

    def started(self, *options, ranks=2):
        folder = self.log_dir()
        process = start(*self.LONG, *options, "--log-dir", folder, ranks=ranks)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            log = folder / "steps.rank0.jsonl"
            if log.exists() and log.stat().st_size > 1000:
                return process, folder
            time.sleep(0.1)
        self.fail("no step was logged")

    def ranks_of(self, mpirun):
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(mpirun.pid)], capture_output=True, text=True).stdout
        return [int(line.split()[0]) for line in children.splitlines() if "train" in line]

    def assert_complete(self, folder):
        for rank in range(2):
            steps = self.steps(folder, rank)  # every line is whole
            self.assertEqual([s["step"] for s in steps], list(range(len(steps))))
            self.assertGreater(len(steps), 2)

    def test_an_exception_ends_all_ranks(self):
        result = run(*SMALL, "--steps", 1000, "--inject", "throw=1@7", "--log-dir", self.log_dir(), ranks=2)
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, r"tandem: rank 1: step 7: ")
        self.assertLess(result.seconds, 10)

    def test_an_exception_ends_all_threads(self):
        result = run(*SMALL, "--steps", 1000, "--inject", "throw=1@7", "--threads", 3, "--log-dir", self.log_dir())
        self.assertEqual(result.code, 1)
        self.assertRegex(result.complaints[0], r"tandem: rank 1: step 7: ")
        self.assertLess(result.seconds, 10)

    def test_a_killed_rank_ends_all(self):
        process, folder = self.started()
        os.kill(self.ranks_of(process)[1], signal.SIGKILL)
        result = Result(process, seconds=10)
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, r"rank 0: .*step \d+")
        self.assertRegex(result.err, r"rank 1|process rank")

    def test_ctrl_c(self):
        process, folder = self.started()
        process.send_signal(signal.SIGINT)
        result = Result(process, seconds=10)
        self.assertNotEqual(result.code, 0)
        self.assert_complete(folder)
        self.assertIn("interrupted", [e["event"] for e in self.events(folder)])

    def test_stop_request_finishes_the_step_on_all_ranks(self):
        process, folder = self.started()
        os.kill(self.ranks_of(process)[1], signal.SIGUSR1)  # only one rank hears of it
        result = Result(process, seconds=10)
        self.assertEqual(result.code, 0, result.err)
        self.assert_complete(folder)
        self.assertEqual(len(self.steps(folder, 0)), len(self.steps(folder, 1)))
        self.assertTrue((folder / "summary.json").exists())


if __name__ == "__main__":
    unittest.main()
