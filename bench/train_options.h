#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::bench {

/// The options that are handed on to `train`: what stands after "--" on the command line.
class TrainOptions {
 public:
  TrainOptions() = default;
  explicit TrainOptions(std::vector<std::string> words) : words_(std::move(words)) {}

  bool has(const std::string& name) const;
  /// The value of `--name value` or `--name=value`, the last one if it is given again.
  std::optional<std::string> value(const std::string& name) const;
  /// The value as a whole number of at least 1. Throws UsageError.
  std::optional<std::int64_t> count(const std::string& name) const;

  void add_flag(const std::string& name) { words_.push_back(name); }
  /// Replaces every occurrence.
  void set(const std::string& name, const std::string& value);
  void remove_value(const std::string& name);
  void remove_flag(const std::string& name);
  /// Drops every --inject of a rank that a run of `ranks` does not have.
  void keep_faults_of(int ranks);

  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

}  // namespace tandem::bench
