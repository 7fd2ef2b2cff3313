// A data set of one's own: what to implement, and what each rank gets of it.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/error.h"
#include "dataloader/data_loader.h"

namespace {

// Points in the plane in two rings, to be told apart. Nothing is stored; a point is a function of its index.
// Data in files works alike: open them in the constructor, read in fetch().
class Rings : public tandem::Dataset {
 public:
  explicit Rings(std::int64_t size) : size_(size) {}

  std::int64_t size() const override { return size_; }
  // Shapes and types of one sample; the loader puts the batch in front: [b, 2] and [b, 1].
  tandem::TensorSpec input() const override { return {tandem::DType::f32, {2}}; }
  tandem::TensorSpec target() const override { return {tandem::DType::i32, {1}}; }
  std::int64_t classes() const override { return 2; }

  // Several threads call this at once, so it changes nothing of the object. `random` is the sample's own:
  // what is drawn from it (here noise, as augmentation) is new in every epoch, but the same for any number of
  // workers and ranks.
  void fetch(std::int64_t index, tandem::Philox& random, const tandem::Tensor& input,
             const tandem::Tensor& target) const override {
    const int label = static_cast<int>(index % 2);
    const double radius = 1.0 + label + 0.1 * random.normal(), angle = 0.7 * static_cast<double>(index);
    input.as<float>()[0] = static_cast<float>(radius * std::cos(angle));
    input.as<float>()[1] = static_cast<float>(radius * std::sin(angle));
    target.as<std::int32_t>()[0] = label;
  }

  std::string describe() const override { return fmt::format("two rings: {} points, 2 classes", size_); }

 private:
  std::int64_t size_;
};

// Prints an epoch and a bit as rank `rank` of `ranks` sees it. A real run has one rank per process, and feeds
// the batches to a model (minimal_ddp.cpp).
void show_rank(const std::shared_ptr<const tandem::Dataset>& data, int rank, int ranks) {
  const tandem::DistributedSampler sampler{
      .dataset_size = data->size(), .batch = 3, .rank = rank, .ranks = ranks, .seed = 1};
  tandem::Context context = tandem::Context::cpu();
  tandem::DataLoader loader(context, data, sampler, {.workers = 2});
  for (std::int64_t step = 0; step <= sampler.steps_per_epoch(); ++step) {
    const tandem::Batch& batch = loader.next();
    fmt::print("rank {}, epoch {}, step {}:", rank, batch.epoch, step);
    for (std::int64_t row = 0; row < sampler.batch; ++row) {
      const float* point = batch.inputs.as<float>() + 2 * row;
      const std::int64_t sample = sampler.sample(step, 0, row);
      if (sample < 0)
        fmt::print("  (empty row)");
      else
        fmt::print("  #{} ({:.2f}, {:.2f}) is {}", sample, point[0], point[1],
                   batch.targets.as<std::int32_t>()[row]);
    }
    fmt::print("  [{} targets in the whole step]\n", batch.step_valid_targets);
  }
}

}  // namespace

int main() {
  try {
    const auto data = std::make_shared<const Rings>(10);
    fmt::print("{}\n", data->describe());
    for (int rank = 0; rank < 2; ++rank) show_rank(data, rank, 2);
    return 0;
  } catch (const tandem::Error& error) {
    fmt::print(stderr, "custom_dataset: {}\n", error.what());
    return error.exit_code();
  }
}
