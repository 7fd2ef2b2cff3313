#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "models/gpt.h"
#include "models/mlp.h"
#include "tests/dist/comm/ranks.h"
#include "tests/support/trained_model.h"

namespace tandem {
namespace {

using testing::on_every_rank;
using testing::Recipe;
using testing::Task;
using testing::TrainedModel;

// Half a MiB of gradients and more, so that a cap of 0.25 makes several buckets.
Task gpt_task() {
  constexpr GptConfig kConfig{.layers = 3, .width = 64, .heads = 4, .vocabulary = 37, .sequence = 8};
  return {.make = [=] { return std::make_unique<Gpt>(kConfig); },
          .sample = {DType::i32, {8}},
          .positions = 8,
          .classes = 37};
}
Task mlp_task() {
  return {.make =
              [] {
                return std::make_unique<Mlp>(MlpConfig{.sizes = {40, 300, 300, 10}});
              },
          .sample = {DType::f32, {40}},
          .positions = 1,
          .classes = 10};
}

class Equivalence : public ::testing::TestWithParam<Task (*)()> {};

TEST_P(Equivalence, OverlapViewsAndCapsChangeNoBit) {
  on_every_rank([](World& world, Context& context) {
    std::map<double, std::uint64_t> hashes;  // by cap
    for (double cap : {0.25, 1.0, 100.0})
      for (bool overlap : {true, false})
        for (bool view : {true, false}) {
          const Task task = GetParam()();
          const Recipe recipe{.caps = {.cap_mb = cap},
                              .reducer = {.overlap = overlap, .gradient_as_bucket_view = view}};
          const TrainedModel trained(context, world.comm(), task, recipe);
          const auto hash = parameters_hash(context, trained.store());
          EXPECT_EQ(hashes.emplace(cap, hash).first->second, hash)
              << "cap " << cap << ", overlap " << overlap << ", view " << view;
          EXPECT_NO_THROW(check_replicas(context, world.comm(), trained.store()));
          EXPECT_EQ(trained.plan().buckets.size() > 1, cap < 1) << "the caps must matter";
        }
    // Up to two ranks there is one addition per element; with more, the place in the bucket decides their
    // order.
    EXPECT_TRUE(world.size() > 2 || (hashes[0.25] == hashes[1.0] && hashes[1.0] == hashes[100.0]));
  });
}

TEST_P(Equivalence, WithoutCommunicationReplicasDiverge) {
  on_every_rank([](World& world, Context& context) {
    if (world.size() == 1) return;
    const Task task = GetParam()();
    const TrainedModel trained(context, world.comm(), task, {.reducer = {.communicate = false}, .steps = 2});
    EXPECT_THROW(check_replicas(context, world.comm(), trained.store()), CommError);
  });
}

/// Each step's mean loss over all ranks.
std::vector<double> global_losses(Context& context, Communicator& communicator, const TrainedModel& trained) {
  std::vector<double> losses = trained.losses();
  communicator.all_reduce(Tensor::of(losses.data(), {std::ssize(losses)}), ReduceOp::sum, context.comm());
  context.comm().synchronize();
  return losses;
}

/// ‖a − b‖ / ‖b‖
double relative_distance(const Tensor& a, const Tensor& b) {
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    const double x = a.as<float>()[i], y = b.as<float>()[i];
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

/// All ranks with `recipe` against one rank that takes the whole global batch at once.
void expect_same_as_one_rank(World& world, Context& context, const Task& task, const Recipe& recipe) {
  const TrainedModel trained(context, world.comm(), task, recipe);
  const auto losses = global_losses(context, world.comm(), trained);

  const auto self = make_self_communicator();
  Recipe whole = recipe;
  whole.batch = recipe.batch * recipe.accumulate * world.size();
  whole.accumulate = 1;
  const TrainedModel alone(context, *self, task, whole);

  for (std::size_t step = 0; step < losses.size(); ++step)
    EXPECT_NEAR(losses[step], alone.losses()[step], 1e-5) << "step " << step;
  const auto &ours = trained.parameters(), &theirs = alone.parameters();
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_LT(relative_distance(ours[i]->value, theirs[i]->value), 1e-5) << ours[i]->name;
}

TEST_P(Equivalence, ManyRanksEqualOneWithTheWholeBatch) {
  on_every_rank([](World& world, Context& context) {
    expect_same_as_one_rank(world, context, GetParam()(), {.batch = 3});
  });
}

TEST_P(Equivalence, AccumulationEqualsALargerBatch) {
  on_every_rank([](World& world, Context& context) {
    expect_same_as_one_rank(world, context, GetParam()(), {.batch = 2, .accumulate = 2});
  });
}

TEST_P(Equivalence, RowsThatDoNotCountChangeNothing) {
  on_every_rank([](World& world, Context& context) {
    expect_same_as_one_rank(world, context, GetParam()(), {.batch = 3, .accumulate = 2, .ragged = true});
  });
}

INSTANTIATE_TEST_SUITE_P(Models, Equivalence, ::testing::Values(&gpt_task, &mlp_task),
                         [](const auto& instance) { return instance.index == 0 ? "gpt" : "mlp"; });

}  // namespace
}  // namespace tandem
