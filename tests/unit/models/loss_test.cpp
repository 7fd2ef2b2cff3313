#include "models/loss.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

class CrossEntropy : public testing::Test {
 protected:
  Tensor logits() { return Tensor::of(logits_.data(), {3, 3}); }
  Tensor targets() { return Tensor::of(targets_.data(), {3}); }

  Context context_ = Context::cpu();
  CrossEntropyLoss loss_{context_};
  std::vector<float> logits_ = {1, 2, 0, 5, 5, 5, -1, 0, 3};
  std::vector<std::int32_t> targets_ = {1, -1, 0};
};

// −log softmax of the targets of the rows that count.
const double kRow0 = std::log(std::exp(1) + std::exp(2) + 1) - 2;
const double kRow2 = std::log(std::exp(-1) + 1 + std::exp(3)) + 1;

TEST_F(CrossEntropy, SumsOverTheRowsThatCount) {
  loss_.forward(logits(), targets());
  EXPECT_NEAR(loss_.read().loss_sum, kRow0 + kRow2, 1e-6);
  EXPECT_EQ(loss_.read().correct, 1);
  EXPECT_EQ(logits_[3], 5.0f);  // evaluation leaves the logits alone
}

TEST_F(CrossEntropy, OverwritesLogitsWithTheirScaledGradient) {
  loss_.set_seed(0.5);
  loss_.forward_backward(logits(), targets());
  EXPECT_NEAR(loss_.read().loss_sum, kRow0 + kRow2, 1e-6);  // not scaled
  EXPECT_EQ(loss_.read().correct, 1);
  const double sum = std::exp(1) + std::exp(2) + 1;
  EXPECT_NEAR(logits_[0], 0.5 * std::exp(1) / sum, 1e-6);
  EXPECT_NEAR(logits_[1], 0.5 * (std::exp(2) / sum - 1), 1e-6);
  EXPECT_NEAR(logits_[2], 0.5 / sum, 1e-6);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(logits_[static_cast<std::size_t>(i)], 0.0f);
}

TEST_F(CrossEntropy, SharesOfTheMicroBatchesAddUpUntilTheNextStep) {
  const std::vector<float> fresh = logits_;
  const auto micro_batch = [&] {
    logits_ = fresh;
    loss_.forward_backward(logits(), targets());
    return *loss_.share().as<double>();
  };
  const double once = kRow0 + kRow2;
  for (const double seed : {0.25, 0.125}) {  // a second step with another seed
    loss_.start_accumulation();
    loss_.set_seed(seed);
    EXPECT_NEAR(micro_batch(), seed * once, 1e-6);
    EXPECT_NEAR(micro_batch(), 2 * seed * once, 1e-6);
    EXPECT_NEAR(micro_batch(), 3 * seed * once, 1e-6);
    EXPECT_NEAR(loss_.read().loss_sum, once, 1e-6) << "of the last call alone";
  }
  loss_.forward(logits(), targets());
  EXPECT_NEAR(*loss_.share().as<double>(), 3 * 0.125 * once, 1e-6) << "evaluation has no share";
}

/// The seed is sent through a ring of a few slots: more steps than it has.
TEST_F(CrossEntropy, TakesANewSeedInEveryStep) {
  const std::vector<float> fresh = logits_;
  for (int step = 1; step <= 20; ++step) {
    logits_ = fresh;
    loss_.set_seed(1.0 / step);
    loss_.forward_backward(logits(), targets());
    EXPECT_NEAR(logits_[2], 1 / (std::exp(1) + std::exp(2) + 1) / step, 1e-6);
  }
}

TEST_F(CrossEntropy, AScaleMultipliesGradientsAndNotTheLoss) {
  double scale = 8;
  loss_.set_scale(Tensor::of(&scale, {1}));
  loss_.set_seed(0.5);
  loss_.forward_backward(logits(), targets());
  EXPECT_NEAR(logits_[2], 8 * 0.5 / (std::exp(1) + std::exp(2) + 1), 1e-6);
  EXPECT_NEAR(loss_.read().loss_sum, kRow0 + kRow2, 1e-6);
  EXPECT_NEAR(*loss_.share().as<double>(), 0.5 * (kRow0 + kRow2), 1e-6);
}

TEST_F(CrossEntropy, PaddedColumnsDoNotCount) {
  CrossEntropyLoss two(context_, 2);
  logits_[2] = std::numeric_limits<float>::quiet_NaN();
  const double row_0 = std::log(std::exp(1) + std::exp(2)) - 2, row_2 = std::log(std::exp(-1) + 1) + 1;
  two.forward(logits(), targets());
  EXPECT_NEAR(two.read().loss_sum, row_0 + row_2, 1e-6);
  EXPECT_EQ(two.read().correct, 1);
  two.set_seed(1);
  two.forward_backward(logits(), targets());
  EXPECT_NEAR(two.read().loss_sum, row_0 + row_2, 1e-6);
  for (const std::size_t i : {2u, 5u, 8u}) EXPECT_EQ(logits_[i], 0.0f);
  EXPECT_NEAR(logits_[0], std::exp(1) / (std::exp(1) + std::exp(2)), 1e-6);
  CrossEntropyLoss four(context_, 4);
  EXPECT_THROW(four.forward(logits(), targets()), ContractError);
}

}  // namespace
}  // namespace tandem
