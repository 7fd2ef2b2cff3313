#include "core/tensor/staged_scalars.h"

#include <array>

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(StagedScalars, ArriveInOrderAtOneAddress) {
  Context context = Context::cpu();
  StagedScalars scalars(context, 2);
  const auto* device = scalars.device().as<double>();
  for (int step = 0; step < 20; ++step) {  // many times round the ring of slots
    scalars.send(std::array{step + 0.25, -1.0 * step});
    EXPECT_EQ(device[0], step + 0.25);
    EXPECT_EQ(device[1], -step);
  }
  EXPECT_EQ(device, scalars.device().as<double>());
}

TEST(StagedScalars, RefuseAnotherNumber) {
  Context context = Context::cpu();
  StagedScalars scalars(context, 2);
  EXPECT_THROW(scalars.send(std::array{1.0}), ContractError);
}

TEST(Graph, IsNothingForTheCpu) {
  Context context = Context::cpu();
  EXPECT_FALSE(Graph());
  EXPECT_THROW(context.capture([] {}), ContractError);
}

TEST(Context, HasItsControlStreamInCommonWithTheCollectivesOnTheCpu) {
  Context context = Context::cpu();
  EXPECT_EQ(&context.control(), &context.comm());
}

TEST(Memory, LargeArenasBeginAtAHugePage) {
  Context context = Context::cpu();
  Arena arena(context, (2 << 20) + 1);
  const Tensor tensor = arena.allocate(DType::u8, {(2 << 20) + 1});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % (2 << 20), 0u);
  for (std::int64_t i = 0; i < tensor.numel(); i += 4096)
    EXPECT_EQ(static_cast<const unsigned char*>(tensor.data())[i], 0);
  static_cast<unsigned char*>(tensor.data())[tensor.numel() - 1] = 1;  // the last byte is there
}

}  // namespace
}  // namespace tandem
