#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/comm/threads/thread_communicator.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

/// What the ranks' threads report to the one that started them: the first failure.
class Failure {
 public:
  void note(int rank, std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error, rank_ = rank;
  }

  void rethrow() const {
    if (!error_) return;
    try {
      std::rethrow_exception(error_);
    } catch (const AgreedError&) {
      throw;
    } catch (const Error& e) {
      throw RankError(e.what(), e.exit_code(), rank_);
    } catch (const std::exception& e) {
      throw RankError(e.what(), 1, rank_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int rank_ = 0;
};

Binding bind_rank(const std::vector<int>& allowed, int rank, int ranks, const WorldOptions& options) {
  Binding binding{allowed, options.bind ? share_of(allowed, rank, ranks) : allowed, ""};
  if (options.bind && ranks > 1) bind_thread(binding.cores);
  binding.note = binding_note(binding.allowed, binding.cores, ranks, options.compute_threads);
  return binding;
}

}  // namespace

void run_threads(int ranks, const std::function<void(World&)>& rank_main, const WorldOptions& options) {
  require(ranks >= 1, "{} ranks as threads", ranks);
  const auto group = std::make_shared<threads::ThreadGroup>(ranks);
  const auto allowed = current_cores();
  Failure failure;

  const auto run_rank = [&](int rank) {
    try {
      Binding binding = bind_rank(allowed, rank, ranks, options);
      World world(std::make_unique<threads::ThreadCommunicator>(group, rank), {rank, ranks},
                  std::move(binding));
      try {
        rank_main(world);
      } catch (...) {
        failure.note(rank, std::current_exception());  // before the others hear of it and fail in turn
        group->abort(rank);
      }
    } catch (...) {
      failure.note(rank, std::current_exception());
      group->abort(rank);
    }
  };
  {
    std::vector<std::jthread> rank_threads;
    for (int rank = 0; rank < ranks; ++rank) rank_threads.emplace_back(run_rank, rank);
  }
  failure.rethrow();
}

}  // namespace tandem
