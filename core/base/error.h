#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace tandem {

/// Root of every exception that Tandem throws on purpose. The message says what was wrong, where, and what to
/// do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// The exit code of a program that ends because of this error: 2 where the user can mend it, 1 otherwise.
  virtual int exit_code() const { return 1; }
};

/// Something in the call itself: an unknown, contradictory or absurd option.
class UsageError : public Error {
 public:
  template <class... Args>
  explicit UsageError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
  int exit_code() const override { return 2; }
};

/// Something in the input: a missing, truncated, foreign or contradictory file.
class DataError : public Error {
 public:
  template <class... Args>
  explicit DataError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
  int exit_code() const override { return 2; }
};

/// A device, its driver or one of its libraries failed.
class DeviceError : public Error {
 public:
  template <class... Args>
  explicit DeviceError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A collective failed, timed out or was aborted.
class CommError : public Error {
 public:
  template <class... Args>
  explicit CommError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A caller broke a function's contract (shapes, order of calls): a bug in the calling code, not in the
/// input.
class ContractError : public Error {
 public:
  template <class... Args>
  explicit ContractError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// Throws ContractError with the message unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw ContractError(format, std::forward<Args>(args)...);
}

}  // namespace tandem
