#!/usr/bin/env python3
"""Runs `tandem collectives` as a user does: with --np, under mpirun, with threads; and with what it must refuse.

    collectives_test.py TANDEM [unittest options]      TANDEM: path of the program
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TANDEM = sys.argv.pop(1)
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
FEW = ["--iters", "3", "--warmup", "1", "--device", "cpu"]
SMALL = ["--min", "1K", "--max", "64K", *FEW]
OPS = ["all-reduce", "reduce-scatter", "all-gather", "broadcast", "send-recv"]


def run(*options, ranks=0):
    command = (["mpirun", "-np", str(ranks)] if ranks else []) + [TANDEM, "collectives", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)


class Collectives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "collectives.json"

    def measured(self, *options, sizes=SMALL, ranks=0):
        result = run(*sizes, "--json", self.file, *options, ranks=ranks)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Every element of every result is right.", result.stdout)
        return result.stdout, json.loads(self.file.read_text())

    def check(self, out, figures, ranks, backend):
        self.assertEqual((figures["ranks"], figures["backend"]), (ranks, backend))
        self.assertEqual(len(figures["rows"]), len(OPS) * 7)
        self.assertEqual(list(figures["links"]), OPS)
        for row in figures["rows"]:
            self.assertEqual(row["wrong"], 0)
            self.assertIsNone(row["in_graph"])
            self.assertGreater(row["time_us"], 0)
            self.assertAlmostEqual(row["algbw_gb_s"], row["bytes"] / row["time_us"] / 1e3)
            factor = {"all-reduce": 2 * (ranks - 1) / ranks, "reduce-scatter": (ranks - 1) / ranks,
                      "all-gather": (ranks - 1) / ranks}.get(row["op"], 1)
            self.assertAlmostEqual(row["busbw_gb_s"], factor * row["algbw_gb_s"])
        for column in ["size B", "count", "redop", "root", "algbw GB/s", "busbw GB/s", "#wrong"]:
            self.assertIn(column, out)

    def test_it_starts_ranks_itself(self):
        self.check(*self.measured("--np", 2), 2, "mpi")

    def test_under_mpirun_one_rank_speaks(self):
        out, figures = self.measured(ranks=2)
        self.check(out, figures, 2, "mpi")
        self.assertEqual(out.count("Every element"), 1)

    def test_ranks_as_threads(self):
        self.check(*self.measured("--threads", 3), 3, "threads")

    def test_chosen_kinds_and_sizes(self):
        _, figures = self.measured("--np", 2, "--ops", "broadcast,all-reduce", sizes=["--min", 4096, "--max", "10K", *FEW])
        self.assertEqual([(r["op"], r["bytes"]) for r in figures["rows"]],
                         [("broadcast", 4096), ("broadcast", 8192), ("all-reduce", 4096), ("all-reduce", 8192)])

    def test_bad_input_is_one_line(self):
        for pattern, options in [
            ("--min 65536 is above --max 1024", ["--np", 2, "--min", "64K", "--max", "1K"]),
            ("--ops all-to-all: .*all-reduce", ["--np", 2, "--ops", "all-to-all"]),
            ("--iters 0", ["--np", 2, "--iters", 0]),
            ("--warmup -1", ["--np", 2, "--warmup", -1]),
            ("--min 3X", ["--np", 2, "--min", "3X"]),
            ("--max 0", ["--threads", 2, "--max", 0]),
            ("--max 9999G", ["--threads", 2, "--max", "9999G"]),
            ("one rank", []),
            ("one rank", ["--threads", 1]),
            ("--device gpu", ["--device", "gpu", "--threads", 2]),
            ("--threads and --device cuda", ["--device", "cuda", "--threads", 2]),
            ("train options", ["--np", 2, "--", "--steps", 3]),
        ]:
            with self.subTest(options=options):
                result = run(*options)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, pattern)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_under_mpirun_a_mistake_is_told_once(self):
        result = run("--iters", 0, "--device", "cpu", ranks=2)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(sum(line.startswith("tandem: ") for line in result.stderr.splitlines()), 1, result.stderr)
        nested = run("--np", 2, ranks=1)
        self.assertIn("under mpirun", nested.stderr)

    def test_a_file_that_cannot_be_written(self):
        result = run(*SMALL, "--threads", 2, "--json", "/proc/nowhere/x.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("/proc/nowhere/x.json", result.stderr)


if __name__ == "__main__":
    unittest.main()
