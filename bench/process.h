#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"

namespace tandem::bench {

/// A program to start: its words, where its output goes, the cores it may run on (empty: as we).
struct Command {
  std::vector<std::string> words;
  std::string output;
  std::vector<int> cores;
};

/// The user (or a batch system) asked to stop.
class Interrupted : public Error {
 public:
  explicit Interrupted(int signal);
  int exit_code() const override { return 128 + signal_; }

 private:
  int signal_;
};

/// A program ended with an error. Its exit code 2 (the user can mend it) is handed on.
class LaunchError : public Error {
 public:
  LaunchError(const Command& command, int status);
  int exit_code() const override { return code_ == 2 ? 2 : 1; }

 private:
  int code_;
};

/// Starts all commands at once and waits for them to end. If one fails, or SIGINT or SIGTERM arrives, ends
/// the others (SIGTERM to each one's process group, SIGKILL after 12 s) and throws LaunchError or
/// Interrupted.
void run_together(const std::vector<Command>& commands);

}  // namespace tandem::bench
