#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/world.h"
#include "core/telemetry/collective_timer.h"

namespace tandem::bench {

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, send_recv };

std::string_view name_of(Collective op);  ///< "all-reduce"
/// Throws UsageError for a name that is none.
Collective parse_collective(std::string_view name);

struct CollectivesRequest {
  std::vector<Collective> ops;
  std::int64_t least_bytes = 1 << 10,
               most_bytes = 512 << 20;  ///< sizes: the least, and doubled up to the most
  int warmup = 5, calls = 20;
};

/// One timing of a collective of one size, in and out of a graph alike.
struct CollectiveFigures {
  double mean_us = 0, p50_us = 0, p99_us = 0;  ///< maxima over ranks, see CollectiveTimes
  double algbw_gb_s = 0, busbw_gb_s = 0;       ///< of mean_us, 10^9 bytes/s, as nccl-tests define them
};

/// One line of the table. Sizes are as in nccl-tests: what a rank holds when all is gathered, or before it is
/// scattered.
struct CollectiveRow {
  Collective op = Collective::all_reduce;
  std::int64_t bytes = 0;
  std::int64_t count = 0;  ///< elements that one rank brings (reduce-scatter: gets)
  CollectiveFigures figures;
  std::optional<CollectiveFigures> in_graph;  ///< replayed from a graph of the GPU; on the CPU there is none
  std::int64_t wrong = 0;                     ///< elements with a wrong value, over all ranks
};

struct CollectivesReport {
  int ranks = 1;
  std::string backend, device;
  int warmup = 0, calls = 0;
  std::vector<CollectiveRow> rows;

  /// The α–β model of one kind, from its p50; empty where it has too few sizes.
  std::optional<LinkModel> link(Collective op) const;
  std::int64_t wrong() const;
};

/// Measures and checks every kind and size. Collective, the same on every rank. Throws UsageError for sizes
/// or counts that make no sense, or a world of one rank.
CollectivesReport measure_collectives(Context& context, World& world, const CollectivesRequest& request);

/// Throws UsageError as measure_collectives() does.
void check(const CollectivesRequest& request, int ranks);

std::string to_text(const CollectivesReport& report);
std::string to_json(const CollectivesReport& report);

}  // namespace tandem::bench
