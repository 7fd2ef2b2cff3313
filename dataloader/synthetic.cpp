#include "dataloader/synthetic.h"

#include <algorithm>

#include "core/base/error.h"

namespace tandem {

namespace {

// Seeds of the content. They are no run's seed: the data is the same whatever --seed says.
constexpr std::uint64_t kCentreSeed = 0x73796E7468657469, kSampleSeed = 0x632D73616D706C65;

Philox sample_stream(std::uint64_t split, std::int64_t index) {
  return Philox(kSampleSeed + split, static_cast<std::uint64_t>(index));
}

// Uniform in [-1, 1), from 24 bits: exact in f32.
float symmetric(Philox& random) {
  return static_cast<float>(random() >> 8) * 0x1.0p-23f - 1.0f;
}

// Uniform in [0, n), n < 2^31.
std::int32_t below(std::int64_t n, Philox& random) {
  return static_cast<std::int32_t>(random() * static_cast<std::uint64_t>(n) >> 32);
}

}  // namespace

SyntheticFeatures::SyntheticFeatures(std::int64_t samples, std::int64_t features, std::int64_t classes,
                                     std::uint64_t split)
    : samples_(samples), features_(features), classes_(classes), split_(split) {
  require(samples > 0 && features > 0 && classes > 0, "synthetic data of {} samples, {} features, {} classes",
          samples, features, classes);
}

void SyntheticFeatures::fetch(std::int64_t index, Philox& /*random*/, const Tensor& input,
                              const Tensor& target) const {
  Philox noise = sample_stream(split_, index);
  const std::int32_t label = below(classes_, noise);
  Philox centre(kCentreSeed, static_cast<std::uint64_t>(label));
  auto* features = input.as<float>();
  std::uint32_t signs = 0;  // of 32 features of the centre
  for (std::int64_t j = 0; j < features_; ++j, signs >>= 1) {
    if (j % 32 == 0) signs = centre();
    features[j] = (signs & 1 ? 0.3f : -0.3f) + symmetric(noise);
  }
  target.as<std::int32_t>()[0] = label;
}

std::string SyntheticFeatures::describe() const {
  return fmt::format("synthetic features: {} samples of {} values, {} classes", samples_, features_,
                     classes_);
}

SyntheticTokens::SyntheticTokens(std::int64_t samples, std::int64_t sequence, std::int64_t vocabulary,
                                 std::uint64_t split)
    : samples_(samples), sequence_(sequence), vocabulary_(vocabulary), split_(split) {
  require(samples > 0 && sequence > 0 && vocabulary > 0, "synthetic data of {} windows of {}, vocabulary {}",
          samples, sequence, vocabulary);
}

void SyntheticTokens::fetch(std::int64_t index, Philox& /*random*/, const Tensor& input,
                            const Tensor& target) const {
  Philox random = sample_stream(split_, index);
  auto* ids = input.as<std::int32_t>();
  auto* next = target.as<std::int32_t>();
  std::generate_n(ids, sequence_, [&] { return below(vocabulary_, random); });
  std::copy(ids + 1, ids + sequence_, next);
  next[sequence_ - 1] = below(vocabulary_, random);
}

std::string SyntheticTokens::describe() const {
  return fmt::format("synthetic tokens: {} windows of {}, vocabulary {}", samples_, sequence_, vocabulary_);
}

}  // namespace tandem
