#include "core/telemetry/peak_rate.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(PeakRate, IsFoundByTheDriversName) {
  EXPECT_EQ(peak_flops("NVIDIA H200", "bf16"), 989.4e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", "bf16"), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", "tf32"), 494.7e12);
  EXPECT_EQ(peak_flops("NVIDIA A100-SXM4-80GB", "fp32"), 19.5e12);
  EXPECT_EQ(peak_flops("NVIDIA A10G", "fp16"), 125e12);
  EXPECT_EQ(peak_flops("NVIDIA L40S", "fp16"), 362e12);
}

TEST(PeakRate, IsUnknownRatherThanGuessed) {
  EXPECT_FALSE(peak_flops("Some GPU", "bf16"));
  EXPECT_FALSE(peak_flops("Tesla V100-SXM2-32GB", "bf16"));  // it has none
  EXPECT_FALSE(peak_flops("Tesla V100-SXM2-32GB", "tf32"));
  EXPECT_EQ(peak_flops("Tesla V100-SXM2-32GB", "fp16"), 125e12);
}

}  // namespace
}  // namespace tandem
