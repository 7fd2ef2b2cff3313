#include "optim/segments.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/optim/random_model.h"

namespace tandem {
namespace {

using testing::RandomModel;

TEST(Segments, HoldEachTrainableParameterOnceInOffsetOrder) {
  auto context = Context::cpu();
  RandomModel model(1);
  const auto store = model.allocate(context, /*reversed=*/true);
  const auto segments = segments_by_offset(store, 0.5, {0, store.layout().numel()});
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

TEST(Chunks, WithinASliceAreFoundAndNeverCut) {
  auto context = Context::cpu();
  constexpr std::int64_t kChunk = ops::SegmentTable::kChunk, kLong = 2 * kChunk + 100;  // three chunks
  const std::vector<ops::Segment> sorted = {{0, 10, 1, 0}, {32, 5, 1, 0}, {64, 40, 1, 0}, {128, kLong, 1, 0}};
  const ops::SegmentTable table(context, sorted);
  ASSERT_EQ(table.chunks().size(), 6u);
  const auto found = [&](std::int64_t offset, std::int64_t numel) {
    const auto range = chunks_within(table, {offset, numel});
    EXPECT_EQ(&range.table, &table);
    return std::pair(range.first, range.count);
  };
  using Range = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(found(0, 128), Range(0, 3));
  EXPECT_EQ(found(0, 32), Range(0, 1));
  EXPECT_EQ(found(0, 10), Range(0, 1));
  EXPECT_EQ(found(32, 32), Range(1, 1));
  EXPECT_EQ(found(64, 64 + kLong), Range(2, 4));
  EXPECT_EQ(found(128, kLong), Range(3, 3));
  EXPECT_EQ(found(0, 128 + kLong), Range(0, 6));
  EXPECT_EQ(found(0, 1 << 30), Range(0, 6));
  EXPECT_EQ(found(128 + kChunk, kChunk), Range(4, 1));  // a chunk is whole, if not its parameter
  EXPECT_EQ(found(10, 22).second, 0);                   // padding alone
  EXPECT_EQ(found(104, 0).second, 0);
  EXPECT_EQ(found(128 + kLong, 1000).second, 0);
  for (const Range& cut : {Range(0, 9), Range(1, 40), Range(70, 20), Range(0, 128 + kChunk + 1),
                           Range(128 + kChunk - 1, kLong), Range(128, kLong - 1)})
    EXPECT_THROW(chunks_within(table, {cut.first, cut.second}), ContractError) << cut.first;
  const ops::SegmentTable none(context, {});
  EXPECT_EQ(chunks_within(none, {0, 10}).count, 0);
}

TEST(Segments, RefuseAScaleThatMakesNoSense) {
  auto context = Context::cpu();
  for (double scale : {-1.0, std::nan("")}) {
    RandomModel model(2);
    model.parameters[3].lr_scale = scale;
    const auto store = model.allocate(context);
    EXPECT_THROW(segments_by_offset(store, 0, {0, store.layout().numel()}), UsageError);
  }
}

}  // namespace
}  // namespace tandem
