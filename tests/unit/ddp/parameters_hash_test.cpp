#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "ddp/replicate.h"
#include "tests/support/replica.h"

namespace tandem {
namespace {

using testing::Replica;

TEST(ParametersHash, DependsOnValuesAndNotOnLayout) {
  auto context = Context::cpu();
  Replica a(context, 1, 5, {.cap_mb = 100, .order = BucketOrder::reverse});
  Replica b(context, 4, 5, {.cap_mb = 0.0001, .order = BucketOrder::forward});
  EXPECT_EQ(parameters_hash(context, a.store), parameters_hash(context, b.store));

  std::set<std::uint64_t> hashes = {parameters_hash(context, a.store)};
  for (Parameter& p : a.parameters) {
    auto& last = p.value.as<float>()[p.numel() - 1];
    const float before = last;
    last = std::nextafter(before, 100.0f);
    EXPECT_TRUE(hashes.insert(parameters_hash(context, a.store)).second) << "one bit of " << p.name;
    last = before;
  }
  EXPECT_EQ(parameters_hash(context, a.store), parameters_hash(context, b.store));
}

}  // namespace
}  // namespace tandem
