#include "core/nn/parameter_layout.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

Parameter parameter(const std::string& name, Shape shape, DType dtype = DType::f32) {
  return {name, shape, Init::zeros(), /*decay=*/true, dtype};
}

TEST(ParameterLayout, PlacesParametersInOrderAtAlignedOffsets) {
  Parameter a = parameter("a", {5}), b = parameter("b", {8, 8}), c = parameter("c", {1});
  const ParameterLayout layout = ParameterLayout::in_order({&a, &b, &c});
  ASSERT_EQ(layout.entries().size(), 3u);
  EXPECT_EQ(layout.entries()[0].offset, 0);
  EXPECT_EQ(layout.entries()[1].offset, 32);
  EXPECT_EQ(layout.entries()[2].offset, 96);
  EXPECT_EQ(layout.entries()[2].parameter, &c);
  EXPECT_EQ(layout.numel(), 97);
}

TEST(ParameterLayout, InOrderLeavesOutFrozenParameters) {
  Parameter a = parameter("a", {5}), b = parameter("b", {5});
  a.frozen = true;
  const ParameterLayout layout = ParameterLayout::in_order({&a, &b});
  ASSERT_EQ(layout.entries().size(), 1u);
  EXPECT_EQ(layout.entries()[0].parameter, &b);
}

TEST(ParameterLayout, PadsItsEnd) {
  Parameter a = parameter("a", {5}), b = parameter("b", {3});
  ParameterLayout layout;
  layout.append(a);
  layout.pad_to(96);
  EXPECT_EQ(layout.numel(), 96);
  layout.pad_to(96);
  EXPECT_EQ(layout.numel(), 96);
  EXPECT_EQ(layout.append(b), 96);
  EXPECT_THROW(layout.pad_to(0), ContractError);
}

TEST(ParameterLayout, TakesAParameterOfSizeZero) {
  Parameter a = parameter("a", {0, 4}), b = parameter("b", {4});
  const ParameterLayout layout = ParameterLayout::in_order({&a, &b});
  EXPECT_EQ(layout.entries().size(), 2u);
  EXPECT_EQ(layout.numel(), 4);
}

TEST(ParameterLayout, RefusesMixedDtypesAndFrozenParameters) {
  Parameter a = parameter("a", {5}), b = parameter("b", {5}, DType::f64), c = parameter("c", {5});
  c.frozen = true;
  ParameterLayout layout;
  layout.append(a);
  EXPECT_THROW(layout.append(b), ContractError);
  EXPECT_THROW(layout.append(c), ContractError);
}

}  // namespace
}  // namespace tandem
