"""Tests scripts/check_includes.py on small trees made for the purpose: each rule finds its offender, and only that."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_includes.py"


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.add("core/base/error.h", "#include <string>")
        self.add("core/tensor/tensor.h", '#include "core/base/error.h"')
        self.add("core/nn/module.h", '#include "core/tensor/tensor.h"')
        self.add("core/comm/communicator.h", '#include "core/tensor/tensor.h"')
        self.add("core/comm/mpi/mpi_communicator.h", "#include <mpi.h>", '#include "core/comm/communicator.h"')
        self.add("ddp/reducer.h", '#include "core/comm/communicator.h"', '#include "core/nn/module.h"')
        self.add("examples/train.cpp", '#include "core/comm/mpi/mpi_communicator.h"', '#include "ddp/reducer.h"')

    def add(self, path, *lines):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pragma = ["#pragma once"] if file.suffix == ".h" else []
        file.write_text("\n".join([*pragma, *lines]) + "\n", encoding="utf-8")

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, "-B", SCRIPT, self.root, *arguments], capture_output=True, text=True)

    def expect_only(self, place, *words):
        run = self.run_script()
        findings = run.stdout.splitlines()[:-1]
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertEqual(len(findings), 1, run.stdout)
        self.assertTrue(findings[0].startswith(place + ": "), findings[0])
        for word in words:
            self.assertIn(word, findings[0])

    def test_a_tree_in_order_passes(self):
        run = self.run_script()
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        self.assertIn("7 files in order", run.stdout)

    def test_lower_must_not_include_higher(self):
        self.add("core/base/text.h", "#include <vector>", '#include "core/tensor/tensor.h"')
        self.expect_only("core/base/text.h:3", "core/base may not include core/tensor")

    def test_siblings_must_not_include_each_other(self):
        self.add("core/nn/check.cpp", '#include "core/comm/communicator.h"')
        self.expect_only("core/nn/check.cpp:1", "core/nn may not include core/comm")

    def test_libraries_must_not_include_programs(self):
        self.add("examples/options.h")
        self.add("ddp/hook.cpp", '  #  include "examples/options.h"')
        self.expect_only("ddp/hook.cpp:1", "ddp may not include examples")

    def test_includes_start_at_the_root(self):
        self.add("ddp/reducer.cpp", '#include "reducer.h"')
        self.expect_only("ddp/reducer.cpp:1", '"ddp/reducer.h"')

    def test_included_files_exist(self):
        self.add("ddp/reducer.cpp", '#include "ddp/redcuer.h"')
        self.expect_only("ddp/reducer.cpp:1", "no file of this project")

    def test_headers_that_cmake_writes_are_known(self):
        self.add("ddp/reducer.cpp", '#include "version.h"')
        (self.root / "ddp/CMakeLists.txt").write_text("configure_file(version.h.in version.h)\n")
        self.assertEqual(self.run_script().returncode, 0)

    def test_own_headers_take_quotes(self):
        self.add("ddp/reducer.cpp", "#include <ddp/reducer.h>")
        self.expect_only("ddp/reducer.cpp:1", 'write "ddp/reducer.h"')

    def test_backend_headers_are_private_to_their_row(self):
        self.add("ddp/reducer.cpp", '#include "core/comm/mpi/mpi_communicator.h"')
        self.expect_only("ddp/reducer.cpp:1", "private to core/comm")

    def test_a_backend_may_include_the_same_backend_below(self):
        self.add("core/device/cpu/threads.h")
        self.add("core/ops/cpu/linear.cpp", '#include "core/device/cpu/threads.h"')
        self.assertEqual(self.run_script().returncode, 0)

    def test_backend_libraries_stay_in_their_folder(self):
        for header in ("mpi.h", "nccl.h", "cuda_runtime.h", "cublasLt.h", "cub/cub.cuh", "cudnn.h", "nvml.h"):
            with self.subTest(header):
                self.add("ddp/reducer.cpp", f"#include <{header}>")
                self.expect_only("ddp/reducer.cpp:1", f"<{header}> outside a")

    def test_no_switch_on_a_backend_outside_its_folder(self):
        for line in ("#ifdef TANDEM_HAS_CUDA", "#if defined(USE_NCCL)", "# ifndef __CUDACC__", "#elif WITH_MPI"):
            with self.subTest(line):
                self.add("ddp/reducer.cpp", "int x;", line, "#endif")
                self.expect_only("ddp/reducer.cpp:2", "a backend is chosen in CMake")
        self.add("ddp/reducer.cpp")
        self.add("core/ops/cuda/kernels.cuh", "#ifdef __CUDA_ARCH__", "#endif")
        self.assertEqual(self.run_script().returncode, 1)  # the .cuh has no pragma
        self.add("core/ops/cuda/kernels.cuh", "#pragma once", "#ifdef __CUDA_ARCH__", "#endif")
        self.assertEqual(self.run_script().returncode, 0)

    def test_every_header_is_guarded(self):
        (self.root / "ddp/hook.h").write_text("struct Hook {};\n")
        self.expect_only("ddp/hook.h:1", "#pragma once")

    def test_a_folder_outside_the_table_is_named(self):
        self.add("core/misc/helpers.h")
        self.expect_only("core/misc/helpers.h:1", "no folder of the table")

    def test_builds_and_hidden_folders_are_left_out(self):
        self.add("build-asan/generated.cpp", '#include "nowhere.h"')
        self.add(".deps/usr/include/fmt/format.cpp", '#include "nowhere.h"')
        self.assertEqual(self.run_script().returncode, 0)

    def test_headers_compile_alone(self):
        build = self.root / "build"
        build.mkdir()
        self.add("ddp/hook.h", "inline std::string name() { return {}; }")
        self.add("ddp/reducer.cpp", '#include "ddp/reducer.h"')
        source = self.root / "ddp/reducer.cpp"
        (build / "compile_commands.json").write_text(
            f'[{{"file": "{source}", "command": "c++ -I{self.root} -std=c++20 -o x.o -c {source}"}}]')
        run = self.run_script("--self-contained", build)
        self.assertEqual(run.returncode, 1)
        self.assertIn("ddp/hook.h:1: does not compile alone", run.stdout)
        self.assertNotIn("ddp/reducer.h", run.stdout)


if __name__ == "__main__":
    unittest.main()
