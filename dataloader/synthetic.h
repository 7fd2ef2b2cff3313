#pragma once

#include <cstdint>
#include <string>

#include "dataloader/dataset.h"

namespace tandem {

/// Random features around one random centre per class: learnable, made on the fly, of any size. Feature j of
/// sample i of class c is s(c, j) + u(i, j), with s = ±0.3, u uniform in [-1, 1) and c uniform. The data
/// depends on nothing but `split`: two splits share the centres, but no sample.
class SyntheticFeatures : public Dataset {
 public:
  SyntheticFeatures(std::int64_t samples, std::int64_t features, std::int64_t classes, std::uint64_t split);

  std::int64_t size() const override { return samples_; }
  TensorSpec input() const override { return {DType::f32, {features_}}; }
  TensorSpec target() const override { return {DType::i32, {1}}; }
  std::int64_t classes() const override { return classes_; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override;
  std::string describe() const override;

 private:
  std::int64_t samples_, features_, classes_;
  std::uint64_t split_;
};

/// Sequences of T + 1 independent, uniform token ids: nothing to learn beyond log(vocabulary) nats.
class SyntheticTokens : public Dataset {
 public:
  SyntheticTokens(std::int64_t samples, std::int64_t sequence, std::int64_t vocabulary, std::uint64_t split);

  std::int64_t size() const override { return samples_; }
  TensorSpec input() const override { return {DType::i32, {sequence_}}; }
  TensorSpec target() const override { return {DType::i32, {sequence_}}; }
  std::int64_t classes() const override { return vocabulary_; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override;
  std::string describe() const override;

 private:
  std::int64_t samples_, sequence_, vocabulary_;
  std::uint64_t split_;
};

}  // namespace tandem
