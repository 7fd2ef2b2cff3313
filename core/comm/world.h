#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "core/comm/binding.h"
#include "core/comm/communicator.h"
#include "core/comm/launch.h"

namespace tandem {

struct WorldOptions {
  bool bind = true;         ///< share the allowed cores evenly among the local ranks (--bind auto); false
                            ///< leaves them as they are (--bind keep)
  int compute_threads = 1;  ///< threads that a rank computes with, for the note about crowded cores
};

/// The ranks of one run, as one of them sees it: made by `main` under mpirun (MPI is initialised here and
/// finalised by the destructor), for a lone process (no MPI at all), or by run_threads() for each of N
/// threads.
///
/// The Context is made before the World and outlives it. A rank that cannot go on says why and calls
/// `comm().abort(code)` while its World is alive:
///
///     Context context = Context::cpu();
///     auto world = World::join(context, options);
///     try {
///       train(context, *world);
///     } catch (const AgreedError& e) {        // thrown by all ranks: nobody waits for anybody
///       if (e.speaker()) print(e.what());
///       return e.exit_code();
///     } catch (const std::exception& e) {     // thrown by this rank alone: the others must be told
///       print(e.what());
///       world->comm().abort(1);
///     }
class World {
 public:
  /// Joins the world that the launcher made. Rank and size come from MPI where a launcher's variables are
  /// seen; otherwise this is a lone rank and MPI is never started. Throws CommError.
  static std::unique_ptr<World> join(Context& context, const WorldOptions& options = {});

  /// For the backends: `session` (a library's lifetime, say) is destroyed last.
  World(std::unique_ptr<Communicator> comm, Place place, Binding binding, std::string mpi_version = "",
        std::shared_ptr<void> session = nullptr);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /// Where an exception other than AgreedError destroys it, the run is aborted: other ranks would wait for
  /// ever.
  ~World();

  int rank() const { return comm_->rank(); }
  int size() const { return comm_->size(); }
  int local_rank() const { return place_.local_rank; }
  int local_size() const { return place_.local_size; }
  Communicator& comm() const { return *comm_; }
  const Binding& binding() const { return binding_; }
  /// The MPI library's version line; empty without MPI.
  const std::string& mpi_version() const { return mpi_version_; }

  /// Collective. Everything that can be wrong before training is checked on every rank, then agreed on here:
  /// if any rank brings an error, every rank throws AgreedError with the lowest failing rank's message and
  /// exit code; only that rank is `speaker`. `error` is null on a rank where all is well.
  void agree(const std::exception* error, Context& context);

 private:
  std::shared_ptr<void> session_;
  std::unique_ptr<Communicator> comm_;
  Place place_;
  Binding binding_;
  std::string mpi_version_;
  int exceptions_ = std::uncaught_exceptions();
  bool agreed_to_end_ = false;
};

/// An error that all ranks know of and end with.
class AgreedError : public Error {
 public:
  AgreedError(const std::string& message, int exit_code, int failed_rank, bool speaker)
      : Error(message), exit_code_(exit_code), failed_rank_(failed_rank), speaker_(speaker) {}

  int exit_code() const override { return exit_code_; }
  /// The lowest rank that brought an error; the message is its.
  int failed_rank() const { return failed_rank_; }
  /// True on that rank: it alone prints the message.
  bool speaker() const { return speaker_; }

 private:
  int exit_code_, failed_rank_;
  bool speaker_;
};

/// A rank's failure under run_threads().
class RankError : public Error {
 public:
  RankError(const std::string& message, int exit_code, int rank)
      : Error(message), exit_code_(exit_code), rank_(rank) {}

  int exit_code() const override { return exit_code_; }
  int rank() const { return rank_; }

 private:
  int exit_code_, rank_;
};

/// Runs `rank_main` on `ranks` threads of this process, each with its World and, of its own making, its
/// Context. Returns when all have returned. If a rank throws, the others' collectives are aborted; when all
/// have ended, the exception of the first to give up is thrown again: AgreedError as the one to be printed,
/// any other as RankError.
void run_threads(int ranks, const std::function<void(World&)>& rank_main, const WorldOptions& options = {});

}  // namespace tandem
