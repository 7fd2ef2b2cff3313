#pragma once

#include <cstdint>
#include <vector>

#include "dataloader/dataset.h"

namespace tandem {

/// One sample of a data set, in memory of its own.
template <class Input>
struct Sample {
  std::vector<Input> input;
  std::vector<std::int32_t> target;
};

template <class Input>
Sample<Input> fetch_sample(const Dataset& data, std::int64_t index) {
  const TensorSpec in = data.input(), out = data.target();
  Sample<Input> sample{std::vector<Input>(static_cast<std::size_t>(in.shape.numel())),
                       std::vector<std::int32_t>(static_cast<std::size_t>(out.shape.numel()))};
  Philox random(1, static_cast<std::uint64_t>(index));
  data.fetch(index, random, Tensor::of(sample.input.data(), in.shape),
             Tensor::of(sample.target.data(), out.shape));
  return sample;
}

}  // namespace tandem
