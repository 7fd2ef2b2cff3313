#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace tandem {

struct WorldOptions {
  bool bind = true;  ///< share the allowed cores evenly among the local ranks (--bind auto); false leaves
                     ///< them as they are
  int compute_threads = 1;  ///< cores that a rank wants, for the binding
};

/// What a rank may run on, and what binding did.
struct Binding {
  std::vector<int> allowed;  ///< before
  std::vector<int> cores;    ///< now
  std::string note;          ///< one line for the console when something was changed or is wrong; else empty
};

/// The ranks of one run, as one of them sees it: made by `main` under mpirun (MPI is initialised here and
/// finalised by the destructor), for a lone process (no MPI at all), or by run_threads() for each of N
/// threads.
class World {
 public:
  /// Joins the world that the launcher made. Rank and size come from MPI where a launcher's variables are
  /// seen, else 1 rank.
  static std::unique_ptr<World> join(Context& context, const WorldOptions& options);

  virtual ~World() = default;

  int rank() const { return comm().rank(); }
  int size() const { return comm().size(); }
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  virtual Communicator& comm() const = 0;
  virtual const Binding& binding() const = 0;
  virtual std::string mpi_version() const = 0;  ///< the library's version line, empty without MPI

  /// Collective. Everything that can be wrong before training is checked on every rank, then agreed on here:
  /// if any rank brings an error, every rank throws AgreedError with the lowest failing rank's message and
  /// exit code; only that rank is `speaker`.
  void agree(const std::exception* error, Context& context);
};

}  // namespace tandem
