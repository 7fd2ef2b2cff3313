#include "optim/segments.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/optim/random_model.h"

namespace tandem {
namespace {

using testing::RandomModel;

TEST(Segments, HoldEachTrainableParameterOnceInOffsetOrder) {
  auto context = Context::cpu();
  RandomModel model(1);
  const auto store = model.allocate(context, /*reversed=*/true);
  const auto segments = segments_by_offset(store, 0.5);
  EXPECT_EQ(segments.size(), 8u);  // ten parameters, one frozen, one empty
  for (std::size_t i = 1; i < segments.size(); ++i)
    EXPECT_GE(segments[i].offset, segments[i - 1].offset + segments[i - 1].count);
  for (const auto& entry : store.layout().entries()) {
    const auto found = std::find_if(segments.begin(), segments.end(),
                                    [&](auto& segment) { return segment.offset == entry.offset; });
    if (entry.parameter->numel() == 0) continue;
    ASSERT_NE(found, segments.end());
    EXPECT_EQ(found->count, entry.parameter->numel());
    EXPECT_EQ(found->weight_decay, entry.parameter->decay ? 0.5f : 0.0f);
    EXPECT_EQ(found->lr_scale, static_cast<float>(entry.parameter->lr_scale));
  }
}

TEST(Segments, WithinASliceAreFoundAndNeverCut) {
  const std::vector<ops::Segment> sorted = {{0, 10, 1, 0}, {32, 5, 1, 0}, {64, 40, 1, 0}};
  EXPECT_EQ(segments_within(sorted, 0, 128).size(), 3u);
  EXPECT_EQ(segments_within(sorted, 0, 32).size(), 1u);
  EXPECT_EQ(segments_within(sorted, 32, 32).data(), &sorted[1]);
  EXPECT_EQ(segments_within(sorted, 10, 22).size(), 0u);  // padding alone
  EXPECT_EQ(segments_within(sorted, 104, 0).size(), 0u);
  EXPECT_EQ(segments_within({}, 0, 10).size(), 0u);
  EXPECT_THROW(segments_within(sorted, 0, 9), ContractError);
  EXPECT_THROW(segments_within(sorted, 1, 40), ContractError);
  EXPECT_THROW(segments_within(sorted, 70, 20), ContractError);
}

TEST(Segments, RefuseAScaleThatMakesNoSense) {
  auto context = Context::cpu();
  for (double scale : {-1.0, std::nan("")}) {
    RandomModel model(2);
    model.parameters[3].lr_scale = scale;
    const auto store = model.allocate(context);
    EXPECT_THROW(segments_by_offset(store, 0), UsageError);
  }
}

}  // namespace
}  // namespace tandem
