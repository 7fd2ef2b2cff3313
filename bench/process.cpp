#include "bench/process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/comm/binding.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{12};  // mpirun itself gives its ranks 10 s

/// Blocks the signals that run_together() waits for, so that none is lost between two waits.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&set_);
    for (const int s : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set_, s);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// The next signal, or −1 after 200 ms.
  int next() const {
    const timespec timeout{0, 200'000'000};
    return sigtimedwait(&set_, nullptr, &timeout);
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_, before_;
};

[[noreturn]] void become(const Command& command, const sigset_t& signals) {
  setpgid(0, 0);  // a group of its own, so that it can be ended with all that it starts
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  const int output = open(command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int input = open("/dev/null", O_RDONLY);
  if (output < 0 || input < 0) _exit(126);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (!command.cores.empty()) bind_thread(command.cores);
  std::vector<char*> words;
  for (const auto& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", words[0], std::strerror(errno));
  _exit(127);
}

struct Child {
  const Command* command;
  pid_t id;
  bool running = true;
};

Child start(const Command& command, const sigset_t& signals) {
  const pid_t id = fork();
  if (id < 0) throw DeviceError("cannot start {}: {}", command.words[0], std::strerror(errno));
  if (id == 0) become(command, signals);
  setpgid(id, id);  // here too: whichever comes first
  return {&command, id};
}

bool any_running(const std::vector<Child>& children) {
  return std::any_of(children.begin(), children.end(), [](const Child& c) { return c.running; });
}

/// Notes which children have ended; returns the first that failed and its status.
std::pair<const Child*, int> reap(std::vector<Child>& children) {
  std::pair<const Child*, int> failed{nullptr, 0};
  for (auto& child : children) {
    int status = 0;
    if (!child.running || waitpid(child.id, &status, WNOHANG) != child.id) continue;
    child.running = false;
    if (status != 0 && !failed.first) failed = {&child, status};
  }
  return failed;
}

void signal_all(const std::vector<Child>& children, int signal) {
  for (const auto& child : children)
    if (child.running) kill(-child.id, signal);
}

void end_all(std::vector<Child>& children, const BlockedSignals& signals) {
  signal_all(children, SIGTERM);
  const auto deadline = Clock::now() + kGrace;
  while (any_running(children)) {
    if (Clock::now() > deadline) signal_all(children, SIGKILL);
    signals.next();
    reap(children);
  }
}

/// The line of a program's output that tells most: the last one of ours, else the last one.
std::string telling_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last, ours;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r-") == std::string::npos) continue;
    last = line;
    if (line.rfind("tandem:", 0) == 0) ours = line;
  }
  return ours.empty() ? last : ours;
}

}  // namespace

Interrupted::Interrupted(int signal) : Error("interrupted; all launches were ended"), signal_(signal) {}

LaunchError::LaunchError(const Command& command, int status)
    : Error(fmt::format("a launch ended with {} {}: {} (its output: {}; command: {})",
                        WIFSIGNALED(status) ? "signal" : "exit code",
                        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                        telling_line(command.output), command.output, fmt::join(command.words, " "))),
      code_(WIFEXITED(status) ? WEXITSTATUS(status) : -1) {}

void run_together(const std::vector<Command>& commands) {
  const BlockedSignals signals;
  std::vector<Child> children;
  for (const auto& command : commands) children.push_back(start(command, signals.before()));
  while (any_running(children)) {
    const int signal = signals.next();
    if (const auto [failed, status] = reap(children); failed) {
      end_all(children, signals);
      throw LaunchError(*failed->command, status);
    }
    if (signal == SIGINT || signal == SIGTERM) {
      end_all(children, signals);
      throw Interrupted(signal);
    }
  }
}

}  // namespace tandem::bench
