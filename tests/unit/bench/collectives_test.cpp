#include "bench/collectives.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/collectives_check.h"
#include "core/base/error.h"
#include "core/comm/comm_scope.h"
#include "core/tensor/arena.h"

namespace tandem::bench {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                               Collective::broadcast, Collective::send_recv};

/// Calls body(world, context, collective) with a buffer of 3 · 1000 elements on each of three ranks.
template <class Body>
void with_collective(Collective op, Body&& body) {
  run_threads(3, [&](World& world) {
    Context context = Context::cpu();
    Arena arena(context, 3000 * 4 + Arena::kAlignment);
    const Tensor buffer = arena.allocate(DType::f32, {3000});
    const CommScope scope(world.comm(), context.comm());
    CheckedCollective collective(context, world.comm(), op, buffer);
    body(world, context, collective, buffer);
  });
}

TEST(CheckedCollective, IsRightEachTime) {
  for (const Collective op : kAll)
    with_collective(op, [&](World& world, Context& context, CheckedCollective& collective, const Tensor&) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        collective.fill(seed);
        collective.call(context.comm());
        context.comm().synchronize();
        EXPECT_EQ(collective.count_wrong(seed), 0) << name_of(op) << ", rank " << world.rank();
      }
    });
}

TEST(CheckedCollective, CountsEveryWrongElement) {
  for (const Collective op : kAll)
    with_collective(op,
                    [&](World& world, Context& context, CheckedCollective& collective, const Tensor& buffer) {
                      collective.fill(1);
                      collective.call(context.comm());
                      context.comm().synchronize();
                      const std::int64_t own = op == Collective::reduce_scatter ? 1000 * world.rank() : 0;
                      for (const std::int64_t i : {own, own + 17, own + 999}) buffer.as<float>()[i] += 1;
                      EXPECT_EQ(collective.count_wrong(1), 3) << name_of(op) << ", rank " << world.rank();
                    });
}

TEST(CheckedCollective, WithoutTheCallValuesAreWrong) {
  for (const Collective op : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather})
    with_collective(op, [&](World&, Context&, CheckedCollective& collective, const Tensor&) {
      collective.fill(1);
      EXPECT_GT(collective.count_wrong(1), 300) << name_of(op);
    });
}

TEST(Collectives, RowsAreAsInNcclTests) {
  run_threads(2, [](World& world) {
    Context context = Context::cpu();
    const CollectivesReport report = measure_collectives(context, world,
                                                         {.ops = {std::begin(kAll), std::end(kAll)},
                                                          .least_bytes = 1024,
                                                          .most_bytes = 8192,
                                                          .warmup = 1,
                                                          .calls = 3});
    ASSERT_EQ(report.rows.size(), 5u * 4u);
    EXPECT_EQ(report.wrong(), 0);
    for (const CollectiveRow& row : report.rows) {
      const CollectiveFigures& f = row.figures;
      EXPECT_GT(f.mean_us, 0);
      EXPECT_LE(f.p50_us, f.p99_us);
      EXPECT_NEAR(f.algbw_gb_s, static_cast<double>(row.bytes) / f.mean_us * 1e-3, 1e-9);
      const double bus = row.op == Collective::reduce_scatter || row.op == Collective::all_gather ? 0.5 : 1;
      EXPECT_NEAR(f.busbw_gb_s, bus * f.algbw_gb_s, 1e-9);  // P = 2: 2(P−1)/P = 1
      EXPECT_EQ(row.count * 4, bus == 0.5 ? row.bytes / 2 : row.bytes);
      EXPECT_FALSE(row.in_graph);
    }
    if (world.rank() != 0) return;
    const auto json = nlohmann::json::parse(to_json(report));
    EXPECT_EQ(json["rows"].size(), 20u);
    EXPECT_EQ(json["links"].size(), 5u);
    EXPECT_GE(json["links"]["all-reduce"]["segments"].size(), 1u);
    EXPECT_NE(to_text(report).find("Every element"), std::string::npos);
  });
}

TEST(Collectives, SizesAndCountsAreChecked) {
  const CollectivesRequest good{.ops = {Collective::all_reduce}, .least_bytes = 1024, .most_bytes = 2048};
  EXPECT_NO_THROW(check(good, 2));
  EXPECT_THROW(check(good, 1), UsageError);
  auto bad = good;
  bad.most_bytes = 512;
  EXPECT_THROW(check(bad, 2), UsageError);
  bad = good;
  bad.least_bytes = 4;
  EXPECT_THROW(check(bad, 2), UsageError);
  bad = good;
  bad.calls = 0;
  EXPECT_THROW(check(bad, 2), UsageError);
  bad = good;
  bad.warmup = -1;
  EXPECT_THROW(check(bad, 2), UsageError);
  bad = good;
  bad.ops.clear();
  EXPECT_THROW(check(bad, 2), UsageError);
  EXPECT_THROW(parse_collective("all-to-all"), UsageError);
  EXPECT_EQ(parse_collective("send-recv"), Collective::send_recv);
}

}  // namespace
}  // namespace tandem::bench
