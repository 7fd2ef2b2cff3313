#include "core/comm/binding.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace tandem {

namespace {

// A set for hosts of any size: the kernel refuses a read into fewer bits than it has processors.
constexpr int kMaxCores = 8192;

struct CoreSet {
  CoreSet() : bits(CPU_ALLOC(kMaxCores)) { CPU_ZERO_S(bytes, bits); }
  CoreSet(const CoreSet&) = delete;
  CoreSet& operator=(const CoreSet&) = delete;
  ~CoreSet() { CPU_FREE(bits); }

  static constexpr std::size_t bytes = CPU_ALLOC_SIZE(kMaxCores);
  cpu_set_t* bits;
};

/// The cores of another thread or process; 0 is the calling thread. Empty if that cannot be known.
std::vector<int> cores_of(pid_t id) {
  CoreSet set;
  std::vector<int> cores;
  if (sched_getaffinity(id, CoreSet::bytes, set.bits) != 0) return cores;
  for (int core = 0; core < kMaxCores; ++core)
    if (CPU_ISSET_S(core, CoreSet::bytes, set.bits)) cores.push_back(core);
  return cores;
}

/// Returns false if the thread has ended meanwhile.
bool bind(pid_t id, const std::vector<int>& cores) {
  CoreSet set;
  for (int core : cores) CPU_SET_S(core, CoreSet::bytes, set.bits);
  if (sched_setaffinity(id, CoreSet::bytes, set.bits) == 0) return true;
  if (errno == ESRCH) return false;
  throw DeviceError("cannot run on cores {}: {} (--bind keep leaves the cores as they are)", core_list(cores),
                    std::strerror(errno));
}

struct Process {
  pid_t parent = 0;
  std::string name;
};

Process process(pid_t id) {
  Process result;
  std::ifstream status(fmt::format("/proc/{}/status", id));
  for (std::string key; status >> key;) {
    if (key == "Name:") status >> result.name;
    if (key == "PPid:") status >> result.parent;
  }
  return result;
}

/// The process of Open MPI that started this one on this host, perhaps through a shell; 0 if there is none.
pid_t launcher() {
  static const std::set<std::string> kNames = {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
  for (pid_t id = getppid(); id > 1;) {
    const Process p = process(id);
    if (kNames.contains(p.name)) return id;
    id = p.parent;
  }
  return 0;
}

}  // namespace

std::vector<int> current_cores() {
  return cores_of(0);
}

std::vector<int> job_cores() {
  if (std::getenv("OMPI_MCA_orte_bound_at_launch"))
    if (const pid_t id = launcher())
      if (auto cores = cores_of(id); !cores.empty()) return cores;
  return current_cores();
}

std::vector<int> share_of(const std::vector<int>& cores, int rank, int ranks) {
  const auto n = static_cast<int>(cores.size());
  if (n == 0) return {};
  if (n < ranks) return {cores[rank % n]};
  const auto first = cores.begin();
  return {first + n * rank / ranks, first + n * (rank + 1) / ranks};
}

void bind_thread(const std::vector<int>& cores) {
  bind(0, cores);
}

void bind_process(const std::vector<int>& cores) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    bind(static_cast<pid_t>(std::stol(entry.path().filename().string())), cores);
}

std::string core_list(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0, j; i < cores.size(); i = j + 1) {
    for (j = i; j + 1 < cores.size() && cores[j + 1] == cores[j] + 1;) ++j;
    text += fmt::format("{}{}", i ? "," : "", cores[i]);
    if (j > i) text += fmt::format("-{}", cores[j]);
  }
  return text;
}

std::string binding_note(const std::vector<int>& allowed, const std::vector<int>& cores, int local_ranks,
                         int compute_threads) {
  std::string note;
  if (allowed != cores)
    note = fmt::format("bound to core{} {} (was {})", cores.size() == 1 ? "" : "s", core_list(cores),
                       core_list(allowed));
  const int threads = compute_threads + (local_ranks > 1 ? 1 : 0);
  if (threads > static_cast<int>(cores.size()))
    note += fmt::format("{}{} threads ({} compute{}) share {} core{}", note.empty() ? "" : "; ", threads,
                        compute_threads, local_ranks > 1 ? ", 1 communication" : "", cores.size(),
                        cores.size() == 1 ? "" : "s");
  return note;
}

}  // namespace tandem
