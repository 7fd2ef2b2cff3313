#include "bench/train_options.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

bool is(const std::string& word, const std::string& name) {
  return word == name || word.rfind(name + "=", 0) == 0;
}

/// RANK in "slow=RANK:MS", "nan=RANK@STEP" or "throw=RANK@STEP"; −1 where there is none.
int rank_of_fault(const std::string& fault) {
  const auto equals = fault.find('=');
  int rank = -1;
  if (fault.starts_with("slow=") || fault.starts_with("nan=") || fault.starts_with("throw="))
    std::from_chars(fault.data() + equals + 1, fault.data() + fault.size(), rank);
  return rank;
}

}  // namespace

bool TrainOptions::has(const std::string& name) const {
  return std::any_of(words_.begin(), words_.end(), [&](const auto& word) { return is(word, name); });
}

std::optional<std::string> TrainOptions::value(const std::string& name) const {
  std::optional<std::string> found;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!is(words_[i], name)) continue;
    if (words_[i] != name) {
      found = words_[i].substr(name.size() + 1);
    } else {
      if (i + 1 == words_.size()) throw UsageError("{} needs a value", name);
      found = words_[i + 1];
    }
  }
  return found;
}

std::optional<std::int64_t> TrainOptions::count(const std::string& name) const {
  const auto text = value(name);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < 1)
    throw UsageError("{} {}: give a whole number of at least 1", name, *text);
  return number;
}

void TrainOptions::set(const std::string& name, const std::string& value) {
  remove_value(name);
  words_.push_back(name);
  words_.push_back(value);
}

void TrainOptions::remove_value(const std::string& name) {
  for (std::size_t i = 0; i < words_.size();) {
    const auto at = words_.begin() + static_cast<std::ptrdiff_t>(i);
    if (words_[i] == name)
      words_.erase(at, at + (i + 1 < words_.size() ? 2 : 1));
    else if (is(words_[i], name))
      words_.erase(at);
    else
      ++i;
  }
}

void TrainOptions::remove_flag(const std::string& name) {
  std::erase_if(words_, [&](const auto& word) { return is(word, name); });
}

void TrainOptions::keep_faults_of(int ranks) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const bool apart = words_[i] == "--inject" && i + 1 < words_.size();
    const bool fault = is(words_[i], "--inject");
    if (!fault || rank_of_fault(apart ? words_[i + 1] : words_[i].substr(8)) < ranks) {
      kept.push_back(words_[i]);
      if (apart) kept.push_back(words_[i + 1]);
    }
    if (apart) ++i;
  }
  words_ = std::move(kept);
}

}  // namespace tandem::bench
