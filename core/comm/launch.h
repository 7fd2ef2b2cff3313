#pragma once

#include <string>
#include <vector>

namespace tandem {

/// How many ranks the launcher's environment (Open MPI, MPICH, PMIx, Slurm) says there are: 0 if no launcher
/// started this process, so that MPI need not be.
int launched_ranks();

/// The place of one rank on its host.
struct Place {
  int local_rank = 0, local_size = 1;
};

/// This process's place, by the launcher's variables; that of a lone rank where they do not say. A rank's GPU
/// is chosen by it before there is a World.
Place launched_place();

/// Replaces this process by `mpirun -np <ranks> <this program> <arguments>`, with the settings that Tandem
/// wants: as root, with more ranks than cores, unbound (World shares the cores out), ten seconds between
/// SIGTERM and SIGKILL. `arguments` are this program's own, without its name and without --ranks. Call it
/// before any thread or SignalGuard exists. Throws UsageError if there is no mpirun.
[[noreturn]] void relaunch_under_mpirun(int ranks, const std::vector<std::string>& arguments);

/// The command line that relaunch_under_mpirun() executes.
std::vector<std::string> mpirun_command(int ranks, const std::string& program,
                                        const std::vector<std::string>& arguments);

}  // namespace tandem
