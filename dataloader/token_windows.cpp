#include "dataloader/token_windows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem {

namespace {

constexpr std::int64_t kScanBytes = 256ll << 20;
constexpr std::int64_t kMostResident = 64ll << 20;
// A fault maps the cached pages around it, too: an aligned window of 64 KiB at each end of what was read.
constexpr std::int64_t kFaultAround = 2 * (64ll << 10);

std::int64_t windows_in(const TokenStream& stream, std::int64_t sequence) {
  return stream.size() == 0 ? 0 : (stream.size() - 1) / sequence;
}

std::int64_t tokens_in(const std::vector<TokenStream>& streams) {
  return std::accumulate(streams.begin(), streams.end(), std::int64_t{0},
                         [](std::int64_t sum, const TokenStream& s) { return sum + s.size(); });
}

}  // namespace

TokenWindows::TokenWindows(std::string name, std::vector<TokenStream> streams, std::int64_t sequence,
                           std::int64_t vocabulary)
    : name_(std::move(name)), streams_(std::move(streams)), sequence_(sequence), vocabulary_(vocabulary) {
  require(sequence_ > 0 && vocabulary_ > 0, "windows of {} tokens of a vocabulary of {}", sequence_,
          vocabulary_);
  std::int64_t windows = 0;
  for (const TokenStream& stream : streams_) last_window_.push_back(windows += windows_in(stream, sequence_));
  if (windows == 0)
    throw DataError(
        "{}: {} tokens do not make one window of --seq {} (which reads {}): give more data or a "
        "smaller --seq",
        name_, tokens_in(streams_), sequence_, sequence_ + 1);
  check_ids();
}

void TokenWindows::check_ids() {
  std::int64_t to_scan = kScanBytes;
  for (const TokenStream& stream : streams_) {
    to_scan -= stream.bytes();
    if (to_scan >= 0) {
      stream.scan(vocabulary_);
      stream.release_pages();
    } else {
      stream.expect_random_access();
    }
  }
}

void TokenWindows::fetch(std::int64_t index, Philox& /*random*/, const Tensor& input,
                         const Tensor& target) const {
  require(index >= 0 && index < size(), "{}: window {} of {}", name_, index, size());
  const auto past = std::upper_bound(last_window_.begin(), last_window_.end(), index);
  const auto stream = static_cast<std::size_t>(past - last_window_.begin());
  const std::int64_t before = stream == 0 ? 0 : last_window_[stream - 1];
  const std::int64_t first = (index - before) * sequence_;
  auto* ids = input.as<std::int32_t>();
  auto* next = target.as<std::int32_t>();
  streams_[stream].read(first, sequence_, vocabulary_, ids);
  std::copy(ids + 1, ids + sequence_, next);
  streams_[stream].read(first + sequence_, 1, vocabulary_, next + sequence_ - 1);
  note_read(2 * sequence_);
}

void TokenWindows::note_read(std::int64_t bytes) const {
  const std::int64_t touched = bytes + kFaultAround;
  if (resident_.fetch_add(touched) + touched < kMostResident) return;
  resident_ = 0;
  for (const TokenStream& stream : streams_) stream.release_pages();
}

std::string TokenWindows::describe() const {
  return fmt::format("{}: {} tokens, {} windows of {}, vocabulary {}", name_,
                     human_count(static_cast<double>(tokens_in(streams_))), size(), sequence_, vocabulary_);
}

}  // namespace tandem
