#include "core/comm/launch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "core/base/error.h"

namespace tandem {

namespace {

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : 0;
}

}  // namespace

int launched_ranks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const int ranks = number_in(variable); ranks > 0) return ranks;
  // Slurm sets this for the tasks of srun, not for a batch script, which is one process whatever it asked
  // for.
  if (const int ranks = number_in("SLURM_STEP_NUM_TASKS"); ranks > 1) return ranks;
  return std::getenv("PMIX_RANK") ? 1 : 0;
}

Place launched_place() {
  struct Names {
    const char *rank, *ranks;
  };
  for (const Names& names : {Names{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                             {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                             {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}})
    if (std::getenv(names.rank)) {
      const int rank = number_in(names.rank);
      return {rank, std::max(number_in(names.ranks), rank + 1)};
    }
  return {};
}

std::vector<std::string> mpirun_command(int ranks, const std::string& program,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"mpirun",    "-np", std::to_string(ranks), "--oversubscribe", "-q",
                                      "--bind-to", "none"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.insert(command.end(), {"--mca", "odls_base_sigkill_timeout", "10", program});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

void relaunch_under_mpirun(int ranks, const std::vector<std::string>& arguments) {
  require(ranks >= 1, "--ranks {}", ranks);
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = mpirun_command(ranks, program, arguments);
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv.front(), argv.data());
  if (errno == ENOENT)
    throw UsageError(
        "--ranks {} needs mpirun, which is not in PATH: install openmpi-bin (Debian, Ubuntu), or use "
        "--threads {}",
        ranks, ranks);
  throw UsageError("--ranks {}: cannot start mpirun: {}", ranks, std::strerror(errno));
}

}  // namespace tandem
