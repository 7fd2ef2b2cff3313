// ZeRO-1 against training with whole optimizer state: the same parameters, from a share of the state.
#include <cmath>
#include <deque>
#include <limits>

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

// Matrices of several chunks (16 384 elements), which shares cut anywhere, and a tied embedding.
Task gpt_task() {
  constexpr GptConfig kConfig{.layers = 2, .width = 96, .heads = 4, .vocabulary = 37, .sequence = 8};
  return {.make = [=] { return std::make_unique<Gpt>(kConfig); },
          .sample = {DType::i32, {8}},
          .positions = 8,
          .classes = 37};
}
Task mlp_task() {
  return {.make =
              [] {
                return std::make_unique<Mlp>(MlpConfig{.sizes = {40, 301, 303, 10}});
              },
          .sample = {DType::f32, {40}},
          .positions = 1,
          .classes = 10};
}

class Zero : public ::testing::TestWithParam<Task (*)()> {};

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

/// Trains in both ways; bitwise the same up to two ranks, where a sum is one addition, and close with more.
void expect_same_as_unsharded(World& world, Context& context, const Task& task, Recipe recipe) {
  const TrainedModel whole(context, world.comm(), task, recipe);
  recipe.zero = true;
  const TrainedModel sharded(context, world.comm(), task, recipe);
  EXPECT_NO_THROW(check_replicas(context, world.comm(), sharded.store()));
  if (world.size() <= 2) {
    EXPECT_EQ(parameters_hash(context, sharded.store()), parameters_hash(context, whole.store()));
    EXPECT_EQ(sharded.norms(), whole.norms());
  } else if (!recipe.adamw) {  // Adam makes ± lr of rounding where a gradient is truly zero
    for (std::size_t i = 0; i < whole.parameters().size(); ++i)
      EXPECT_LT(relative_distance(sharded.parameters()[i]->value, whole.parameters()[i]->value), 1e-5);
  } else {
    for (std::size_t i = 0; i < whole.losses().size(); ++i)
      EXPECT_NEAR(sharded.losses()[i], whole.losses()[i], 1e-4);
  }
  const std::int64_t all = whole.optimizer().state_bytes();
  EXPECT_EQ(sharded.optimizer().state_bytes(), all / world.size());
}

TEST_P(Zero, TrainsAsWithoutIt) {
  on_every_rank([](World& world, Context& context) {
    for (bool adamw : {false, true})
      for (double clip : {0.0, 0.05})
        expect_same_as_unsharded(world, context, GetParam()(),
                                 {.caps = {.cap_mb = 0.25}, .steps = 6, .adamw = adamw, .clip = clip});
  });
}

TEST_P(Zero, GoesWithAccumulationCapsViewsAndNoOverlap) {
  on_every_rank([](World& world, Context& context) {
    for (bool overlap : {true, false})
      for (bool view : {true, false})
        for (double cap : {0.01, 100.0})
          expect_same_as_unsharded(world, context, GetParam()(),
                                   {.accumulate = 2,
                                    .caps = {.cap_mb = cap},
                                    .reducer = {.overlap = overlap, .gradient_as_bucket_view = view},
                                    .steps = 3,
                                    .adamw = true,
                                    .clip = 0.05});
  });
}

INSTANTIATE_TEST_SUITE_P(Models, Zero, ::testing::Values(&gpt_task, &mlp_task),
                         [](const auto& instance) { return instance.index == 0 ? "gpt" : "mlp"; });

/// Parameters of many sizes: smaller and larger than a share, of one chunk and several.
std::deque<Parameter> many_sizes() {
  std::deque<Parameter> made;
  for (const std::int64_t size : {40'000, 7, 16'384, 0, 333, 70'001, 16'385, 1, 50'000})
    made.emplace_back(fmt::format("p{}", made.size()), Shape{size}, Init::normal(1), true);
  made.emplace_back("frozen", Shape{1000}, Init::normal(1), true).frozen = true;
  return made;
}

TEST(ShardedNorm, EqualsTheWholeNormBitForBit) {
  on_every_rank([](World& world, Context& context) {
    for (double cap : {0.001, 0.1, 0.3, 100.0}) {
      auto parameters = many_sizes();
      ParameterList list;
      for (Parameter& p : parameters) list.push_back(&p);
      const auto plan = BucketPlan::make(
          list, {}, {.cap_mb = cap, .first_cap_mb = 0.01, .order = BucketOrder::reverse}, world.size());
      const auto store = ParameterStore::allocate(context, plan.layout, list);
      for (int step = 0; step < 3; ++step) {
        Philox random(static_cast<std::uint64_t>(step), 5);  // the same on all ranks
        for (Parameter* p : list)
          for (std::int64_t i = 0; !p->frozen && i < p->numel(); ++i)
            p->grad.as<float>()[i] = static_cast<float>(random.normal());
        GradientNorm whole(context, store);
        whole.compute();
        // As a reduce-scatter leaves them: nobody knows what lies outside the own shares.
        auto* grads = store.grads().as<float>();
        std::vector<float> kept(grads, grads + store.grads().numel());
        std::fill_n(grads, store.grads().numel(), std::numeric_limits<float>::quiet_NaN());
        for (const LayoutRange& share : plan.shares(world.rank(), world.size()))
          std::copy_n(kept.begin() + share.offset, share.numel, grads + share.offset);
        ShardedNorm sharded(context, world.comm(), plan, store);
        sharded.compute();
        EXPECT_EQ(*sharded.value().as<double>(), *whole.value().as<double>()) << "cap " << cap;
      }
    }
  });
}

TEST(ParameterGather, WaitsWhereAValueIsReadAndNamesWhatWasNot) {
  on_every_rank([](World& world, Context& context) {
    auto parameters = many_sizes();
    ParameterList list;
    for (Parameter& p : parameters) list.push_back(&p);
    const auto plan = BucketPlan::make(list, {}, {.cap_mb = 0.1}, world.size());
    const auto store = ParameterStore::allocate(context, plan.layout, list);
    {
      ParameterGather gather(context, world.comm(), plan, store, /*overlap=*/true);
      for (float step : {1.0f, 2.0f}) {
        for (const Parameter& p : parameters) p.read();
        for (const LayoutRange& share : plan.shares(world.rank(), world.size()))
          std::fill_n(store.values().as<float>() + share.offset, share.numel, step);
        gather.start();
        const Parameter& last = parameters[8];
        EXPECT_EQ(last.read().as<float>()[0], step);  // read() has waited for it
        EXPECT_EQ(last.read().as<float>()[last.numel() - 1], step);
      }
      for (const Parameter& p : parameters)
        if (p.name != "p4") p.read();
      try {
        gather.start();
        ADD_FAILURE() << "nobody read p4";
      } catch (const ContractError& error) {
        EXPECT_NE(std::string(error.what()).find("'p4'"), std::string::npos) << error.what();
      }
    }
    for (const Parameter& p : parameters) EXPECT_EQ(p.gate, nullptr);
  });
}

TEST(ParameterGather, BringsMastersTogetherAtTheEnd) {
  on_every_rank([](World& world, Context& context) {
    auto parameters = many_sizes();
    ParameterList list;
    for (Parameter& p : parameters) {
      p.dtype = DType::bf16;
      list.push_back(&p);
    }
    const auto plan = BucketPlan::make(list, {}, {.cap_mb = 0.1}, world.size());
    const auto store = ParameterStore::allocate(context, plan.layout, list);
    ParameterGather gather(context, world.comm(), plan, store, /*overlap=*/true);
    auto* masters = store.masters().as<float>();
    const auto expected = [](std::int64_t i) { return static_cast<float>(i % 1009) + 0.125f; };
    for (const LayoutRange& share : plan.shares(world.rank(), world.size()))
      for (std::int64_t i = share.offset; i < share.end(); ++i) masters[i] = expected(i);
    gather.gather_masters();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < store.masters().numel(); ++i) wrong += masters[i] != expected(i);
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace
}  // namespace tandem
