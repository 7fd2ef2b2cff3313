#include "models/loss.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

class CrossEntropy : public testing::Test {
 protected:
  CrossEntropy() {
    MemoryPlan memory{context_, arena_, arena_};
    loss_.plan(memory);
  }

  Context context_ = Context::cpu();
  Arena arena_ = Arena(context_, 4096);
  CrossEntropyLoss loss_;
  std::vector<float> logits_ = {1, 2, 0, 5, 5, 5, -1, 0, 3};
  std::vector<std::int32_t> targets_ = {1, -1, 0};
};

TEST_F(CrossEntropy, SumsOverTheRowsThatCount) {
  loss_.forward(context_, Tensor::of(logits_.data(), {3, 3}), Tensor::of(targets_.data(), {3}));
  const double row_0 = std::log(std::exp(1) + std::exp(2) + 1) - 2;
  const double row_2 = std::log(std::exp(-1) + 1 + std::exp(3)) + 1;
  EXPECT_NEAR(loss_.loss_sum(), row_0 + row_2, 1e-6);
  EXPECT_EQ(loss_.correct(), 1);
  EXPECT_EQ(logits_[3], 5.0f);  // evaluation leaves the logits alone
}

TEST_F(CrossEntropy, OverwritesLogitsWithTheirScaledGradient) {
  loss_.forward_backward(context_, Tensor::of(logits_.data(), {3, 3}), Tensor::of(targets_.data(), {3}), 0.5);
  const double sum = std::exp(1) + std::exp(2) + 1;
  EXPECT_NEAR(logits_[0], 0.5 * std::exp(1) / sum, 1e-6);
  EXPECT_NEAR(logits_[1], 0.5 * (std::exp(2) / sum - 1), 1e-6);
  EXPECT_NEAR(logits_[2], 0.5 / sum, 1e-6);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(logits_[static_cast<std::size_t>(i)], 0.0f);
}

}  // namespace
}  // namespace tandem
