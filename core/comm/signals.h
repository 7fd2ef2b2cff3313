#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace tandem {

/// Handles signals on a thread of its own, where ordinary code may run. Make it first thing in `main`, before
/// any other thread and before MPI: threads inherit the signal mask of the thread that makes them.
///
/// - SIGUSR1: stop_requested() turns true; the loop finishes its step, all ranks agree to stop, exit 0.
/// - SIGTERM, SIGINT: every registered rank's callback completes its logs and says where it was; a line
///   "tandem: rank R: SIGTERM in step S" goes to stderr; the process exits with 128 + signal. mpirun sends
///   SIGKILL one second after SIGTERM, so a callback must be done in half a second and use no collective.
class SignalGuard {
 public:
  SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard();

  /// SIGUSR1 has come. Only one rank may have got it: agree before acting on it.
  bool stop_requested() const { return stop_requested_.load(std::memory_order_relaxed); }

  /// Completes the logs and returns where the rank is: "rank 1: step 17", say. Called on the signal thread
  /// while the rank goes on.
  using OnTerminate = std::function<std::string()>;

  /// While it lives, the callback is called on SIGTERM and SIGINT.
  class [[nodiscard]] Registration {
   public:
    Registration(SignalGuard& guard, OnTerminate callback);
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration();

   private:
    SignalGuard& guard_;
    std::list<OnTerminate>::iterator entry_;
  };

 private:
  void run();
  [[noreturn]] void terminate(int signal);

  std::atomic<bool> stop_requested_{false}, closing_{false};
  std::mutex mutex_;
  std::list<OnTerminate> callbacks_;
  std::thread thread_;
};

}  // namespace tandem
