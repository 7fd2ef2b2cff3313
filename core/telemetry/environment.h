#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// What a figure was measured on, as far as the operating system tells. What cannot be read is empty.
struct Environment {
  std::string host, kernel;
  std::optional<std::string> os, cpu_model, governor;
  std::optional<double> cpu_mhz;            ///< of the first core, now
  int cores = 0;                            ///< online, logical
  std::map<std::string, std::string> numa;  ///< node → its cores: "node0" → "0-31"
  std::optional<double> cgroup_cpus;        ///< CPU time per time that the cgroup may use; empty: no limit
  std::optional<std::int64_t> memory_bytes;
  /// Before the run: it holds what others do. Tasks running or waiting for a core, mean of the last minute
  /// and now (this one included).
  std::optional<double> load_average;
  std::optional<int> runnable_tasks;
  std::map<std::string, std::string> variables;                 ///< every NCCL_*, CUDA_*, OMPI_*, UCX_*
  std::map<std::string, std::optional<std::string>> nccl_conf;  ///< path → content of the two nccl.conf
};

/// Reads it. `root`: where /proc, /sys and /etc lie.
Environment read_environment(const std::filesystem::path& root = "/");

}  // namespace tandem
