#include <gtest/gtest.h>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/shape.h"
#include "core/base/text.h"

namespace tandem {

namespace {

TEST(Shape, CountsElementsAndRows) {
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.numel(), 30);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.last(), 5);
  EXPECT_EQ(shape[-2], 3);
  EXPECT_EQ(shape.str(), "[2, 3, 5]");
  EXPECT_EQ(shape.with_last(7), (Shape{2, 3, 7}));
}

TEST(Shape, AScalarHasOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.rows(), 1);
  EXPECT_EQ(scalar.str(), "[]");
}

TEST(Shape, HoldsMoreElementsThanAnIntCounts) {
  EXPECT_EQ((Shape{1 << 20, 1 << 20}).numel(), 1ll << 40);
}

TEST(Shape, ComparesRankAndDimensions) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THROW((Shape{1, 1, 1, 1, 1}), ContractError);
  EXPECT_THROW((Shape{2, -1}), ContractError);
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::i32), 4u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(name_of(DType::f16), "f16");
  EXPECT_EQ(dtype_of<std::int64_t>, DType::i64);
}

TEST(DType, TheCpuComputesInFloatAndDoubleOnly) {
  EXPECT_EQ(visit_floating(DType::f32, [](auto zero) { return sizeof(zero); }), 4u);
  EXPECT_EQ(visit_floating(DType::f64, [](auto zero) { return sizeof(zero); }), 8u);
  EXPECT_THROW(visit_floating(DType::bf16, [](auto zero) { return sizeof(zero); }), ContractError);
}

TEST(Error, ExitCodesTellUsersMistakesFromOthers) {
  EXPECT_EQ(UsageError("--batch {}", -1).exit_code(), 2);
  EXPECT_EQ(DataError("empty").exit_code(), 2);
  EXPECT_EQ(CommError("aborted").exit_code(), 1);
  EXPECT_EQ(DeviceError("no memory").exit_code(), 1);
  EXPECT_STREQ(UsageError("--batch {}", -1).what(), "--batch -1");
  EXPECT_NO_THROW(require(true, "fine"));
  EXPECT_THROW(require(false, "not fine: {}", 3), ContractError);
}

TEST(Text, Bytes) {
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(25.0 * (1 << 20)), "25 MiB");
}

TEST(Text, Counts) {
  EXPECT_EQ(human_count(873), "873");
  EXPECT_EQ(human_count(12300), "12.3 K");
  EXPECT_EQ(human_count(124.4e6), "124.4 M");
}

TEST(Text, Durations) {
  EXPECT_EQ(human_duration(0.42), "0.42 s");
  EXPECT_EQ(human_duration(12), "12 s");
  EXPECT_EQ(human_duration(200), "3 min 20 s");
  EXPECT_EQ(human_duration(7500), "2 h 05 min");
}

}  // namespace

}  // namespace tandem
