#include "core/telemetry/environment.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

/// A machine made of files.
class FakeRoot {
 public:
  void file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(path)).parent_path());
    folder_.write(path, content);
  }
  Environment read() const { return read_environment(folder_.path()); }

 private:
  TempFolder folder_;
};

TEST(Environment, ReadsWhatTheSystemTells) {
  FakeRoot root;
  root.file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
  root.file("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\ncpu MHz\t\t: 2300.5\nmodel name\t: other\n");
  root.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  root.file("sys/devices/system/node/node0/cpulist", "0-3\n");
  root.file("sys/devices/system/node/node1/cpulist", "4-7\n");
  root.file("sys/devices/system/node/possible", "0-1\n");
  root.file("proc/meminfo", "MemTotal:       1024 kB\n");
  root.file("proc/loadavg", "1.25 0.5 0.25 3/412 999\n");
  root.file("etc/nccl.conf", "NCCL_DEBUG=WARN\n");
  const Environment e = root.read();
  EXPECT_EQ(e.os, "Debian GNU/Linux 12");
  EXPECT_EQ(e.cpu_model, "Some CPU @ 2.00GHz");
  EXPECT_EQ(e.cpu_mhz, 2300.5);
  EXPECT_EQ(e.governor, "performance");
  EXPECT_EQ(e.numa, (std::map<std::string, std::string>{{"node0", "0-3"}, {"node1", "4-7"}}));
  EXPECT_EQ(e.memory_bytes, 1024 * 1024);
  EXPECT_EQ(e.load_average, 1.25);
  EXPECT_EQ(e.runnable_tasks, 3);
  EXPECT_EQ(e.nccl_conf.at("/etc/nccl.conf"), "NCCL_DEBUG=WARN");
  EXPECT_EQ(e.nccl_conf.size(), 2u);
  EXPECT_FALSE(e.cgroup_cpus);
}

TEST(Environment, WhatCannotBeReadIsEmpty) {
  const Environment e = FakeRoot().read();
  EXPECT_FALSE(e.os || e.cpu_model || e.cpu_mhz || e.governor || e.cgroup_cpus || e.memory_bytes ||
               e.load_average || e.runnable_tasks);
  EXPECT_TRUE(e.numa.empty());
  EXPECT_FALSE(e.host.empty());
  EXPECT_GT(e.cores, 0);
}

TEST(Environment, TheTightestCgroupCounts) {
  FakeRoot two;
  two.file("proc/self/cgroup", "0::/a/b\n");
  two.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(two.read().cgroup_cpus);
  two.file("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(two.read().cgroup_cpus, 2.5);
  two.file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(two.read().cgroup_cpus, 1.5);

  FakeRoot one;
  one.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  one.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(one.read().cgroup_cpus);
  one.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(one.read().cgroup_cpus, 0.5);
}

TEST(Environment, KeepsTheVariablesThatMatter) {
  setenv("NCCL_TEST_OF_TANDEM", "a=b", 1);
  setenv("UCX_TEST_OF_TANDEM", "", 1);
  setenv("OTHER_TEST_OF_TANDEM", "x", 1);
  setenv("OMPI_MCA_orte_test_of_tandem", "x", 1);
  const Environment e = FakeRoot().read();
  EXPECT_EQ(e.variables.at("NCCL_TEST_OF_TANDEM"), "a=b");
  EXPECT_EQ(e.variables.at("UCX_TEST_OF_TANDEM"), "");
  EXPECT_FALSE(e.variables.contains("OTHER_TEST_OF_TANDEM"));
  EXPECT_FALSE(e.variables.contains("OMPI_MCA_orte_test_of_tandem"));  // the launcher's own
}

}  // namespace
}  // namespace tandem
