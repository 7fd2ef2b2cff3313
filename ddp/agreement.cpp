#include "ddp/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/ranges.h>

#include "ddp/hash.h"

namespace tandem {

namespace {

/// One rank's collectives on host memory, each waited for.
class Exchange {
 public:
  Exchange(Context& context, Communicator& communicator)
      : stream_(context.control()), communicator_(communicator.control()) {}

  bool same_everywhere(std::uint64_t hash) {
    // The maximum of ~h is the complement of the minimum of h: one collective finds both.
    std::array<std::int64_t, 2> extremes = {static_cast<std::int64_t>(hash),
                                            ~static_cast<std::int64_t>(hash)};
    communicator_.all_reduce(Tensor::of(extremes.data(), {2}), ReduceOp::max, stream_);
    stream_.synchronize();
    return extremes[0] == ~extremes[1];
  }

  /// [rank][i]: every rank's `mine`, which has the same length on all.
  std::vector<std::vector<std::int64_t>> gather(const std::vector<std::int64_t>& mine) {
    const auto block = std::ssize(mine);
    std::vector<std::int64_t> all(mine.size() * communicator_.size());
    std::copy(mine.begin(), mine.end(), all.begin() + block * communicator_.rank());
    communicator_.all_gather(Tensor::of(all.data(), {std::ssize(all)}), stream_);
    stream_.synchronize();

    std::vector<std::vector<std::int64_t>> by_rank;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      by_rank.emplace_back(all.begin() + block * rank, all.begin() + block * (rank + 1));
    return by_rank;
  }

  std::string broadcast(const std::string& text, int root) {
    std::array<std::int64_t, 64> words{};
    std::memcpy(words.data(), text.data(), std::min(text.size(), sizeof(words) - 1));
    communicator_.broadcast(Tensor::of(words.data(), {std::ssize(words)}), root, stream_);
    stream_.synchronize();
    return reinterpret_cast<const char*>(words.data());
  }

 private:
  Stream& stream_;
  Communicator& communicator_;
};

std::uint64_t hash_of(std::span<const Fingerprint> items) {
  Hash hash;
  for (const Fingerprint& item : items) hash.add(item.hash);
  return hash.add(items.size()).value();
}

/// [rank][i]: every rank's hashes; 0 past the end of a shorter list.
std::vector<std::vector<std::int64_t>> gather_hashes(Exchange& exchange, std::span<const Fingerprint> items) {
  std::int64_t longest = 0;
  for (const auto& count : exchange.gather({std::ssize(items)})) longest = std::max(longest, count[0]);
  std::vector<std::int64_t> mine(static_cast<std::size_t>(longest));
  for (std::size_t i = 0; i < items.size(); ++i) mine[i] = static_cast<std::int64_t>(items[i].hash);
  return exchange.gather(mine);
}

/// The first place where some rank's list differs from rank 0's, and which do.
Disagreement first_difference(const std::vector<std::vector<std::int64_t>>& hashes) {
  Disagreement found;
  for (const auto expected = hashes[0]; found.index < std::ssize(expected); ++found.index) {
    for (int rank = 1; rank < std::ssize(hashes); ++rank)
      if (hashes[rank][found.index] != expected[found.index]) found.ranks.push_back(rank);
    if (!found.ranks.empty()) return found;
  }
  throw ContractError("two lists hash differently, but none of their items does");
}

}  // namespace

std::string Disagreement::rank_list() const {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::optional<Disagreement> find_disagreement(Context& context, Communicator& communicator,
                                              std::span<const Fingerprint> items) {
  Exchange exchange(context, communicator);
  if (exchange.same_everywhere(hash_of(items))) return std::nullopt;

  Disagreement found = first_difference(gather_hashes(exchange, items));
  const std::string mine = found.index < std::ssize(items) ? items[found.index].text : "nothing";
  found.expected = exchange.broadcast(mine, 0);
  found.found = exchange.broadcast(mine, found.ranks.front());
  return found;
}

}  // namespace tandem
