#pragma once

#include <string>
#include <vector>

namespace tandem {

/// The cores that a rank may run on, before and after the ranks of a host have shared them out.
struct Binding {
  std::vector<int> allowed;  ///< before
  std::vector<int> cores;    ///< now
  std::string note;          ///< one line for the console when something was changed or is wrong; else empty
};

/// The cores that the calling thread may run on, ascending.
std::vector<int> current_cores();

/// The cores that this host gives to the job, as far as this process can tell. Open MPI's mpirun narrows its
/// ranks to one core each (N ≤ 2) without regard for its own affinity; where it did, these are the cores of
/// mpirun itself, which is what the user (taskset, a cgroup, a batch system) allowed. Else `current_cores()`.
std::vector<int> job_cores();

/// An even, contiguous share of `cores` for local rank `rank` of `ranks`; with fewer cores than ranks, one
/// core, taken in turn.
std::vector<int> share_of(const std::vector<int>& cores, int rank, int ranks);

/// Restricts the calling thread (and threads that it will start) to `cores`. Throws DeviceError.
void bind_thread(const std::vector<int>& cores);
/// Restricts every thread of this process, those of libraries too. Throws DeviceError.
void bind_process(const std::vector<int>& cores);

/// "0-3,8" for {0, 1, 2, 3, 8}.
std::string core_list(const std::vector<int>& cores);

/// What to tell the user about a rank that had `allowed`, out of the host's `job` cores, and now has `cores`;
/// it wants `compute_threads` cores to compute and one to communicate. Empty if there is nothing to tell.
std::string binding_note(const std::vector<int>& allowed, const std::vector<int>& cores, int local_ranks,
                         int compute_threads);

}  // namespace tandem
