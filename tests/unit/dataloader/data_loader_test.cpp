#include "dataloader/data_loader.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/allocation_counter.h"

namespace tandem {
namespace {

// Sample i is [i, a random number of its own]; its label i mod 10. Fetching may dawdle, or throw.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}

  std::int64_t size() const override { return size_; }
  TensorSpec input() const override { return {DType::f32, {2}}; }
  TensorSpec target() const override { return {DType::i32, {1}}; }
  std::int64_t classes() const override { return 10; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override {
    if (on_fetch) on_fetch(index);
    input.as<float>()[0] = static_cast<float>(index);
    input.as<float>()[1] = static_cast<float>(random.uniform());
    target.as<std::int32_t>()[0] = static_cast<std::int32_t>(index % 10);
  }
  std::string describe() const override { return "numbers"; }

  std::function<void(std::int64_t)> on_fetch;

 private:
  std::int64_t size_;
};

void dawdle(std::int64_t) {
  thread_local std::minstd_rand random(
      static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())));
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

struct Row {
  float sample, random;
  std::int32_t label;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const Batch& batch) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < batch.inputs.rows(); ++i)
    rows.push_back({batch.inputs.as<float>()[2 * i], batch.inputs.as<float>()[2 * i + 1],
                    batch.targets.as<std::int32_t>()[i]});
  return rows;
}

std::vector<Row> take(DataLoader& loader, std::int64_t batches) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < batches; ++i)
    for (const Row& row : rows_of(loader.next())) rows.push_back(row);
  return rows;
}

using Grid = testing::TestWithParam<std::tuple<int, int>>;  // ranks, workers

// The main promise: each sample once per epoch, in the same order, with the same random numbers, whatever the
// numbers of ranks and workers and however slow any of them is.
TEST_P(Grid, DeliversTheEpochInOrder) {
  const auto [ranks, workers] = GetParam();
  Context context = Context::cpu();
  for (const std::int64_t size : {25, 24, 7}) {
    auto data = std::make_shared<Numbers>(size);
    data->on_fetch = dawdle;
    std::vector<std::vector<Row>> by_rank;
    DistributedSampler sampler{
        .dataset_size = size, .batch = 2, .micro_batches = 2, .ranks = ranks, .seed = 3};
    const std::int64_t batches = 3 * sampler.steps_per_epoch() * sampler.micro_batches;
    for (sampler.rank = 0; sampler.rank < ranks; ++sampler.rank) {
      DataLoader loader(context, data, sampler, {.workers = workers, .prefetch = 3});
      by_rank.push_back(take(loader, batches));
    }
    std::vector<Row> merged;
    for (std::size_t batch = 0; batch < static_cast<std::size_t>(batches); ++batch)
      for (const auto& rows : by_rank)
        for (std::size_t row = 2 * batch; row < 2 * batch + 2; ++row)
          if (rows[row].label >= 0) merged.push_back(rows[row]);

    const DistributedSampler alone{.dataset_size = size, .batch = 1, .seed = 3};
    DataLoader reference(context, std::make_shared<Numbers>(size), alone, {.workers = 0});
    EXPECT_EQ(merged, take(reference, 3 * size)) << size << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(RanksAndWorkers, Grid,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(0, 1, 4)));

TEST(DataLoader, RandomNumbersDifferBetweenEpochsSamplesAndSeeds) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(8);
  DistributedSampler sampler{.dataset_size = 8, .batch = 8, .shuffle = false, .seed = ~std::uint64_t{0}};
  DataLoader loader(context, data, sampler);
  sampler.seed = 1;
  DataLoader other(context, data, sampler);
  const auto first = take(loader, 1), second = take(loader, 1), third = take(other, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(first[i].sample, second[i].sample);
    EXPECT_NE(first[i].random, second[i].random);
    EXPECT_NE(first[i].random, third[i].random);
    EXPECT_NE(first[i].random, first[(i + 1) % 8].random);
  }
}

TEST(DataLoader, ResumesAtAStep) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(23);
  const DistributedSampler sampler{.dataset_size = 23, .batch = 2, .micro_batches = 3, .rank = 1, .ranks = 2};
  DataLoader straight(context, data, sampler, {.workers = 2});
  take(straight, 3 * 5);
  DataLoader resumed(context, data, sampler, {.workers = 2, .first_step = 5});
  EXPECT_EQ(take(resumed, 20), take(straight, 20));
}

TEST(DataLoader, EmptyRowsAreZeroWithTargetMinusOne) {
  Context context = Context::cpu();
  const DistributedSampler sampler{.dataset_size = 9, .batch = 4, .rank = 1, .ranks = 2, .shuffle = false};
  DataLoader loader(context, std::make_shared<Numbers>(9), sampler, {.workers = 2, .prefetch = 1});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Batch& full = loader.next();
    EXPECT_EQ(full.inputs.shape(), (Shape{4, 2}));
    EXPECT_EQ(full.targets.shape(), (Shape{4, 1}));
    EXPECT_EQ(full.samples, 4);
    EXPECT_EQ(full.epoch, epoch);
    EXPECT_EQ(full.step_valid_targets, 8);
    const Batch& last = loader.next();  // the ninth sample is rank 0's
    EXPECT_EQ(last.samples, 0);
    EXPECT_EQ(last.valid_targets, 0);
    EXPECT_EQ(last.step_valid_targets, 1);
    EXPECT_EQ(last.epoch, epoch);
    EXPECT_EQ(rows_of(last), std::vector<Row>(4, Row{0, 0, -1}));
  }
}

TEST(DataLoader, ThrowsWhatAWorkerThrewAtItsBatchAndGoesOn) {
  for (const int workers : {0, 1, 4}) {
    Context context = Context::cpu();
    auto data = std::make_shared<Numbers>(40);
    data->on_fetch = [](std::int64_t index) {
      dawdle(index);
      if (index == 13) throw DataError("sample {} is bad", index);
    };
    const DistributedSampler sampler{.dataset_size = 40, .batch = 4, .shuffle = false};
    DataLoader loader(context, data, sampler, {.workers = workers});
    for (int epoch = 0; epoch < 2; ++epoch)
      for (int batch = 0; batch < 10; ++batch)
        if (batch == 3)
          EXPECT_THROW(loader.next(), DataError);
        else
          EXPECT_EQ(rows_of(loader.next())[0].sample, static_cast<float>(4 * batch));
  }
}

TEST(DataLoader, EndsInAnyState) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(1000);
  data->on_fetch = dawdle;
  const DistributedSampler sampler{.dataset_size = 1000, .batch = 4};
  for (int taken = 0; taken < 20; ++taken) {
    DataLoader loader(context, data, sampler, {.workers = taken % 5, .prefetch = 1 + taken % 3});
    take(loader, taken);
    if (taken % 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // let the ring fill up
  }
}

TEST(DataLoader, ABatchStaysUntilTheNextCall) {
  Context context = Context::cpu();
  const DistributedSampler sampler{.dataset_size = 100, .batch = 4, .shuffle = false};
  DataLoader loader(context, std::make_shared<Numbers>(100), sampler, {.workers = 4, .prefetch = 2});
  for (int i = 0; i < 20; ++i) {
    const Batch& batch = loader.next();
    const auto before = rows_of(batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(rows_of(batch), before);
  }
}

TEST(DataLoader, NeverRunsFurtherAheadThanPrefetch) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(1000);
  std::atomic<int> fetched{0};
  data->on_fetch = [&](std::int64_t) { ++fetched; };
  const DistributedSampler sampler{.dataset_size = 1000, .batch = 1};
  DataLoader loader(context, data, sampler, {.workers = 3, .prefetch = 4});
  take(loader, 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(fetched, 14);
}

TEST(DataLoader, AllocatesNothingPerBatch) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(100);
  for (const int workers : {0, 1, 4}) {
    const DistributedSampler sampler{.dataset_size = 100, .batch = 8};
    DataLoader loader(context, data, sampler, {.workers = workers});
    for (int i = 0; i < 20; ++i) loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // every worker has started
    const std::int64_t before = allocations();
    for (int i = 0; i < 200; ++i) loader.next();
    EXPECT_EQ(allocations() - before, 0) << workers << " workers";
  }
}

TEST(DataLoader, MemoryIsFixed) {
  Context context = Context::cpu();
  const DistributedSampler sampler{.dataset_size = 100, .batch = 8};
  DataLoader loader(context, std::make_shared<Numbers>(100), sampler, {.workers = 1, .prefetch = 2});
  std::set<void*> places;
  for (int i = 0; i < 50; ++i) places.insert(loader.next().inputs.data());
  EXPECT_EQ(places.size(), 3u);
}

// ------------------------------------------------------------------------------------------------------------

// Sample i has i mod 4 valid targets of three.
class Gaps : public Numbers {
 public:
  using Numbers::Numbers;
  TensorSpec target() const override { return {DType::i32, {3}}; }
  void fetch(std::int64_t index, Philox&, const Tensor& input, const Tensor& target) const override {
    input.as<float>()[0] = input.as<float>()[1] = 0;
    for (std::int64_t i = 0; i < 3; ++i) target.as<std::int32_t>()[i] = i < index % 4 ? 1 : -1;
  }
  bool has_missing_targets() const override { return !forgotten; }
  std::int64_t valid_targets(std::int64_t index) const override { return index % 4; }
  bool forgotten = false;
};

TEST(DataLoader, CountsTheStepsTargetsExactly) {
  Context context = Context::cpu();
  auto data = std::make_shared<Gaps>(29);
  DistributedSampler sampler{.dataset_size = 29, .batch = 2, .micro_batches = 2, .ranks = 3};
  std::vector<std::unique_ptr<DataLoader>> loaders;
  for (sampler.rank = 0; sampler.rank < 3; ++sampler.rank)
    loaders.push_back(std::make_unique<DataLoader>(context, data, sampler, LoaderOptions{}));
  for (int step = 0; step < 9; ++step) {
    std::int64_t counted = 0, promised = 0;
    for (const auto& loader : loaders)
      for (int micro = 0; micro < 2; ++micro) {
        const Batch& batch = loader->next();
        counted += batch.valid_targets;
        promised = batch.step_valid_targets;
      }
    EXPECT_EQ(counted, promised) << "step " << step;
  }
}

TEST(DataLoader, FindsADatasetThatMiscounts) {
  Context context = Context::cpu();
  auto data = std::make_shared<Gaps>(8);
  data->forgotten = true;
  DataLoader loader(context, data, {.dataset_size = 8, .batch = 8});
  EXPECT_THROW(loader.next(), ContractError);
}

// Numbers whose label or shape is wrong.
class Wrong : public Numbers {
 public:
  explicit Wrong(std::int32_t label) : Numbers(4), label_(label) {}
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override {
    Numbers::fetch(index, random, input, target);
    target.as<std::int32_t>()[0] = label_;
  }

 private:
  std::int32_t label_;
};

TEST(DataLoader, RefusesTargetsOutOfRange) {
  Context context = Context::cpu();
  for (const std::int32_t label : {10, -2, 1 << 30}) {
    DataLoader loader(context, std::make_shared<Wrong>(label), {.dataset_size = 4, .batch = 2});
    EXPECT_THROW(loader.next(), DataError) << label;
  }
}

TEST(DataLoader, RefusesWhatCannotBe) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(10);
  const DistributedSampler good{.dataset_size = 10, .batch = 2};
  EXPECT_THROW(DataLoader(context, data, {.dataset_size = 9, .batch = 2}), ContractError);
  EXPECT_THROW(DataLoader(context, data, {.dataset_size = 10, .batch = 0}), ContractError);
  EXPECT_THROW(DataLoader(context, data, {.dataset_size = 10, .rank = 1, .ranks = 1}), ContractError);
  EXPECT_THROW(DataLoader(context, data, good, {.workers = -1}), ContractError);
  EXPECT_THROW(DataLoader(context, data, good, {.workers = 1, .prefetch = 0}), ContractError);
  EXPECT_THROW(DataLoader(context, data, good, {.first_step = -1}), ContractError);
  EXPECT_THROW(DataLoader(context, std::make_shared<Numbers>(0), {.dataset_size = 0}), DataError);
}

TEST(DataLoader, RefusesLessThanOneGlobalBatch) {
  Context context = Context::cpu();
  auto data = std::make_shared<Numbers>(10);
  const DistributedSampler sampler{
      .dataset_size = 10, .batch = 2, .micro_batches = 2, .ranks = 3, .tail = Tail::drop};
  EXPECT_THROW(DataLoader(context, data, sampler), DataError);
  try {
    check_global_batch(*data, sampler);
    FAIL();
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("10 samples are fewer than one global batch of 12"), std::string::npos) << message;
    EXPECT_EQ(error.exit_code(), 2);
  }
}

}  // namespace
}  // namespace tandem
