#include "core/comm/signals.h"

#include <csignal>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tandem {

namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalGuard::SignalGuard() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { run(); });
}

SignalGuard::~SignalGuard() {
  closing_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);  // wakes it
  thread_.join();
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void SignalGuard::run() {
  pthread_setname_np(pthread_self(), "signals");
  const sigset_t set = handled_signals();
  for (int signal = 0; !closing_;) {
    if (sigwait(&set, &signal) != 0 || closing_) continue;
    if (signal == SIGUSR1)
      stop_requested_ = true;
    else
      terminate(signal);
  }
}

void SignalGuard::terminate(int signal) {
  const char* name = signal == SIGINT ? "SIGINT" : "SIGTERM";
  std::lock_guard lock(mutex_);
  for (const auto& callback : callbacks_) {
    std::string where;
    try {
      where = callback();
    } catch (const std::exception& e) {
      where = fmt::format("the logs may be incomplete: {}", e.what());
    }
    const std::string line = fmt::format("tandem: {}: ended by {}\n", where, name);
    [[maybe_unused]] auto written =
        write(STDERR_FILENO, line.data(), line.size());  // one call: lines stay whole
  }
  _exit(128 + signal);
}

SignalGuard::Registration::Registration(SignalGuard& guard, OnTerminate callback) : guard_(guard) {
  std::lock_guard lock(guard.mutex_);
  entry_ = guard.callbacks_.insert(guard.callbacks_.end(), std::move(callback));
}

SignalGuard::Registration::~Registration() {
  std::lock_guard lock(guard_.mutex_);
  guard_.callbacks_.erase(entry_);
}

}  // namespace tandem
