#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "core/comm/threads/thread_communicator.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

/// Throws what a rank's thread ended with, naming the rank.
void rethrow(std::exception_ptr error, int rank) {
  try {
    std::rethrow_exception(error);
  } catch (const AgreedError& e) {  // of all ranks' exceptions this one alone goes on: it speaks
    throw AgreedError(e.what(), e.exit_code(), e.failed_rank(), /*speaker=*/true);
  } catch (const Error& e) {
    throw RankError(e.what(), e.exit_code(), rank);
  } catch (const std::exception& e) {
    throw RankError(e.what(), 1, rank);
  }
}

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
  std::vector<std::exception_ptr> errors(ranks);  // by rank

  const auto run_rank = [&](int rank) {
    try {
      Binding binding = bind_rank(allowed, rank, ranks, options);
      World world(std::make_unique<threads::ThreadCommunicator>(group, rank, rank), {rank, ranks},
                  std::move(binding));
      try {
        rank_main(world);
      } catch (...) {
        errors[rank] = std::current_exception();
        group->abort(rank);  // while the rank's World is alive: nobody waits for it longer than needed
      }
    } catch (...) {
      errors[rank] = std::current_exception();
      group->abort(rank);
    }
  };
  {
    std::vector<std::jthread> rank_threads;
    for (int rank = 0; rank < ranks; ++rank) rank_threads.emplace_back(run_rank, rank);
  }
  // The first to give up has the cause; the others only heard of it. It may have caught its own exception.
  const int first = std::max(group->aborted_by(), 0);
  if (errors[first]) rethrow(errors[first], first);
  for (int rank = 0; rank < ranks; ++rank)
    if (errors[rank]) rethrow(errors[rank], rank);
}

}  // namespace tandem
