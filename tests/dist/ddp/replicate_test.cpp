#include "ddp/replicate.h"

#include <gtest/gtest.h>

#include "tests/dist/comm/ranks.h"
#include "tests/support/replica.h"

namespace tandem {
namespace {

using testing::on_every_rank;
using testing::Replica;

TEST(Replicate, GivesEveryRankTheValuesOfRankZero) {
  on_every_rank([](World& world, Context& context) {
    Replica mine(context, world.size(), /*seed=*/100 + world.rank()), first(context, world.size(), 100);
    replicate(context, world.comm(), mine.plan, mine.store);
    EXPECT_EQ(parameters_hash(context, mine.store), parameters_hash(context, first.store));
    EXPECT_NO_THROW(check_replicas(context, world.comm(), mine.store));
  });
}

/// The message of the E that `f` must throw.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_mentions(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
}

/// "ranks 1, 3 differ from rank 0": every odd rank.
std::string odd_ranks_differ(int size) {
  return size <= 3 ? "rank 1 differs from rank 0" : "ranks 1, 3 differ from rank 0";
}

struct Variant {
  BucketOptions caps;
  std::int64_t third_size = 33;
  bool last_frozen = true;
};

/// What replicate() says where odd ranks have `odd` and the others the usual model.
void expect_difference(World& world, Context& context, const Variant& odd, std::vector<std::string> parts) {
  const Variant variant = world.rank() % 2 == 1 ? odd : Variant{};
  Replica mine(context, world.size(), 1, variant.caps, variant.third_size, variant.last_frozen);
  parts.push_back(odd_ranks_differ(world.size()));
  expect_mentions(message_of<UsageError>([&] { replicate(context, world.comm(), mine.plan, mine.store); }),
                  parts);
}

TEST(Replicate, NamesTheFirstDifferenceAndTheRanks) {
  on_every_rank([](World& world, Context& context) {
    if (world.size() == 1) return;
    const auto expect = [&](const Variant& odd, const std::vector<std::string>& parts) {
      expect_difference(world, context, odd, parts);
    };
    expect({.caps = {}, .third_size = 34}, {"'second.weight' f32 [33, 7]", "'second.weight' f32 [34, 7]"});
    expect({.caps = {.cap_mb = 0.0001}}, {"'first.bias' f32 [40]", "bucket 1", "bucket 0"});
    expect({.caps = {.order = BucketOrder::reverse}}, {"parameter 0", "'first.weight'", "'second.weight'"});
    expect({.caps = {}, .last_frozen = false}, {"'last' f32 [11] frozen", "'last' f32 [11] used"});
  });
}

TEST(CheckReplicas, NamesTheParameterThatDiverged) {
  on_every_rank([](World& world, Context& context) {
    if (world.size() == 1) return;
    Replica mine(context, world.size(), 1);
    const int last = world.size() - 1;
    if (world.rank() == last) mine.parameters[1].value.as<float>()[39] += 1;
    expect_mentions(message_of<CommError>([&] { check_replicas(context, world.comm(), mine.store); }),
                    {"'first.bias'", fmt::format("rank {} holds", last)});
  });
}

}  // namespace
}  // namespace tandem
