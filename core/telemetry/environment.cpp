#include "core/telemetry/environment.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

namespace tandem {

namespace fs = std::filesystem;

namespace {

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// What follows the separator in the first line that starts with `key`: files such as /proc/cpuinfo.
std::optional<std::string> read_value(const fs::path& path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto start = line.find_first_not_of(" \t\"", line.find(separator) + 1);
    if (start == line.npos) return std::nullopt;
    return line.substr(start, line.find_last_not_of(" \t\"") + 1 - start);
  }
  return std::nullopt;
}

std::optional<double> to_number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  return end == text->c_str() ? std::nullopt : std::optional(value);
}

std::map<std::string, std::string> read_numa(const fs::path& root) {
  std::map<std::string, std::string> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("node")) continue;
    if (const auto cores = read_text(entry.path() / "cpulist")) nodes[name] = *cores;
  }
  return nodes;
}

/// Version 2: the tightest of the process's group and those above it. Version 1: the quota of its root.
std::optional<double> read_cgroup_cpus(const fs::path& root) {
  std::optional<double> cpus;
  const fs::path top = root / "sys/fs/cgroup";
  fs::path group = read_value(root / "proc/self/cgroup", "0::", ':').value_or(":/").substr(1);
  for (;; group = group.parent_path()) {
    std::istringstream limit(read_text(top / group.relative_path() / "cpu.max").value_or(""));
    double quota = 0, period = 0;
    if (limit >> quota >> period && period > 0)
      cpus = std::min(cpus.value_or(quota / period), quota / period);
    if (!group.has_relative_path()) break;
  }
  const auto quota = to_number(read_text(top / "cpu/cpu.cfs_quota_us"));
  const auto period = to_number(read_text(top / "cpu/cpu.cfs_period_us"));
  if (!cpus && quota && period && *quota > 0 && *period > 0) cpus = *quota / *period;
  return cpus;
}

/// What the launcher tells its processes about themselves: other in every run, and no setting of anybody's.
bool is_launchers_own(std::string_view name) {
  for (const std::string_view prefix :
       {"OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_shmem_",
        "OMPI_FILE_", "OMPI_FIRST_RANKS", "OMPI_NUM_APP_", "OMPI_APP_CTX_", "OMPI_UNIVERSE_", "OMPI_ARGV",
        "OMPI_COMMAND", "OMPI_MCA_initial_wdir"})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::map<std::string, std::string> read_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    for (const std::string_view prefix : {"NCCL_", "CUDA_", "OMPI_", "UCX_"})
      if (text.starts_with(prefix) && !is_launchers_own(text.substr(0, equals)))
        variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return variables;
}

std::map<std::string, std::optional<std::string>> read_nccl_conf(const fs::path& root) {
  std::map<std::string, std::optional<std::string>> files;
  files["/etc/nccl.conf"] = read_text(root / "etc/nccl.conf");
  const char* home = std::getenv("HOME");
  files["~/.nccl.conf"] = home ? read_text(fs::path(home) / ".nccl.conf") : std::nullopt;
  return files;
}

/// "0.52 0.41 0.30 3/412 12345": means over 1, 5, 15 minutes; runnable/all tasks.
void read_load(const fs::path& root, Environment& environment) {
  std::istringstream text(read_text(root / "proc/loadavg").value_or(""));
  double one = 0, five = 0, fifteen = 0;
  int runnable = 0;
  if (!(text >> one >> five >> fifteen >> runnable)) return;
  environment.load_average = one;
  environment.runnable_tasks = runnable;
}

}  // namespace

Environment read_environment(const fs::path& root) {
  Environment e;
  utsname names{};
  if (uname(&names) == 0) {
    e.host = names.nodename;
    e.kernel = std::string(names.sysname) + " " + names.release;
  }
  e.os = read_value(root / "etc/os-release", "PRETTY_NAME", '=');
  e.cpu_model = read_value(root / "proc/cpuinfo", "model name", ':');
  e.cpu_mhz = to_number(read_value(root / "proc/cpuinfo", "cpu MHz", ':'));
  e.governor = read_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  e.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  e.numa = read_numa(root);
  e.cgroup_cpus = read_cgroup_cpus(root);
  if (const auto kib = to_number(read_value(root / "proc/meminfo", "MemTotal", ':')))
    e.memory_bytes = static_cast<std::int64_t>(*kib * 1024);
  read_load(root, e);
  e.variables = read_variables();
  e.nccl_conf = read_nccl_conf(root);
  return e;
}

}  // namespace tandem
