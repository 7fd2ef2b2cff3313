#include "core/tensor/tensor.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/tensor/arena.h"
#include "core/tensor/copy.h"
#include "core/tensor/planned_memory.h"

namespace tandem {

namespace {

TEST(Tensor, IsAViewOfItsOwnersMemory) {
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::of(values.data(), {2, 3});
  EXPECT_TRUE(tensor);
  EXPECT_EQ(tensor.dtype(), DType::f32);
  EXPECT_EQ(tensor.bytes(), 24);
  EXPECT_EQ(tensor.rows(), 2);
  tensor.as<float>()[4] = 40;
  EXPECT_EQ(values[4], 40);
  EXPECT_FALSE(Tensor());
}

TEST(Tensor, RefusesToBeReadAsAnotherType) {
  double value = 1;
  EXPECT_THROW(Tensor::of(&value, {1}).as<float>(), ContractError);
}

TEST(Tensor, ReshapeKeepsTheElements) {
  std::vector<float> values(6);
  const Tensor tensor = Tensor::of(values.data(), {2, 3});
  const Tensor flat = tensor.reshape({6});
  EXPECT_EQ(flat.data(), tensor.data());
  EXPECT_EQ(flat.shape(), Shape{6});
  EXPECT_THROW(tensor.reshape({5}), ContractError);
}

TEST(Tensor, SliceIsAPartOfTheFlattenedTensor) {
  std::vector<std::int64_t> values = {0, 1, 2, 3, 4, 5};
  const Tensor slice = Tensor::of(values.data(), {2, 3}).slice(2, 3);
  EXPECT_EQ(slice.shape(), Shape{3});
  EXPECT_EQ(slice.as<std::int64_t>()[0], 2);
  EXPECT_EQ(slice.slice(3, 0).numel(), 0);
  EXPECT_THROW(slice.slice(1, 3), ContractError);
  EXPECT_THROW(slice.slice(-1, 1), ContractError);
  EXPECT_THROW(slice.slice(0, -1), ContractError);
}

TEST(Tensor, ASliceOfNoMemoryHasNone) {
  EXPECT_FALSE(Tensor(nullptr, DType::f32, {10}).slice(5, 5));
}

/// A plan as a module might make it: something that stays, and two temporaries that share their memory.
struct Plan {
  explicit Plan(Arena& arena) : kept(arena.allocate(DType::f32, {100})) {
    {
      const auto scope = arena.scope();
      first = arena.allocate(DType::f32, {1000});
      const auto inner = arena.scope();
      nested = arena.allocate(DType::u8, {3});
    }
    const auto scope = arena.scope();
    second = arena.allocate(DType::f64, {200});
  }
  Tensor kept, first, nested, second;
};

TEST(Arena, AMeasuringPassCountsAndGivesNoMemory) {
  Arena arena;
  const Plan plan(arena);
  EXPECT_TRUE(arena.measuring());
  EXPECT_FALSE(plan.kept);
  EXPECT_EQ(plan.first.shape(), Shape{1000});
  EXPECT_EQ(arena.peak(), 512 + 4096 + 256);  // rounded up to the alignment: 400, 4000 and 3 bytes
}

TEST(Arena, TheSecondPassFitsExactly) {
  Arena measure;
  { const Plan plan(measure); }
  Arena arena(Context::cpu(), measure.peak());
  const Plan plan(arena);
  EXPECT_EQ(arena.peak(), measure.peak());
  EXPECT_EQ(plan.first.data(), plan.second.data()) << "scopes reuse memory";
  EXPECT_NE(plan.nested.data(), plan.first.data()) << "nested ones do not overlap";
  for (const Tensor& t : {plan.kept, plan.first, plan.nested, plan.second})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % Arena::kAlignment, 0u);
}

TEST(Arena, MemoryIsZeroAtFirstAndWritable) {
  Arena arena(Context::cpu(), 1 << 16);
  const Tensor tensor = arena.allocate(DType::u8, {1 << 16});
  const std::vector<std::uint8_t> zeros(1 << 16);
  EXPECT_EQ(std::memcmp(tensor.data(), zeros.data(), zeros.size()), 0);
  std::memset(tensor.data(), 1, 1 << 16);
}

TEST(Arena, RefusesMoreThanWasMeasured) {
  Arena arena(Context::cpu(), 256);
  arena.allocate(DType::f32, {64});
  EXPECT_THROW(arena.allocate(DType::f32, {1}), ContractError);
}

TEST(Arena, RefusesEverythingOnceSealed) {
  Arena arena(Context::cpu(), 1024);
  const Tensor tensor = arena.allocate({DType::f32, {2}});
  arena.seal();
  EXPECT_THROW(arena.allocate(DType::f32, {2}), ContractError);
  tensor.as<float>()[1] = 3;  // what was handed out stays good
}

TEST(Arena, MovesWithItsMemory) {
  Arena arena(Context::cpu(), 256);
  const Tensor tensor = arena.allocate(DType::f32, {4});
  tensor.as<float>()[3] = 5;
  const Arena moved = std::move(arena);
  EXPECT_EQ(tensor.as<float>()[3], 5);
  EXPECT_EQ(moved.peak(), 256);
}

TEST(Arena, SaysWhenThereIsNotThatMuchMemory) {
  EXPECT_THROW(Arena(Context::cpu(), 1ll << 60), DeviceError);
}

TEST(PlannedMemory, RunsAPlanTwiceAndSealsTheResult) {
  Context context = Context::cpu();
  int passes = 0;
  Tensor kept, temporary;
  Arena* saved = nullptr;
  const PlannedMemory memory(context, [&](MemoryPlan& plan) {
    ++passes;
    saved = &plan.saved;
    kept = plan.saved.allocate(DType::f32, {10});
    const auto scope = plan.scratch.scope();
    temporary = plan.scratch.allocate(DType::f64, {10});
  });
  EXPECT_EQ(passes, 2);
  EXPECT_TRUE(kept);
  EXPECT_TRUE(temporary);
  EXPECT_THROW(saved->allocate(DType::f32, {1}), ContractError);
}

TEST(Copy, KeepsStreamOrder) {
  Context context = Context::cpu();
  std::vector<float> from = {1, 2, 3, 4}, to(4);
  context.comm().enqueue([&] { from[0] = 10; });
  copy(context.comm(), Tensor::of(from.data(), {2, 2}), Tensor::of(to.data(), {4}));
  context.comm().enqueue([&] { from[0] = 20; });
  context.comm().synchronize();
  EXPECT_EQ(to, (std::vector<float>{10, 2, 3, 4}));
}

TEST(Copy, RefusesOtherSizesAndTypes) {
  Context context = Context::cpu();
  std::vector<float> from(4), to(3);
  std::vector<double> wide(4);
  EXPECT_THROW(copy(context.copy(), Tensor::of(from.data(), {4}), Tensor::of(to.data(), {3})), ContractError);
  EXPECT_THROW(copy(context.copy(), Tensor::of(from.data(), {4}), Tensor::of(wide.data(), {4})),
               ContractError);
}

}  // namespace

}  // namespace tandem
