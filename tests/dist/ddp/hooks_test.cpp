// What hooks leave in a bucket, against sums in double.
#include <cmath>
#include <deque>
#include <functional>

#include <gtest/gtest.h>

#include "core/base/philox.h"
#include "ddp/reducer.h"
#include "examples/power_sgd.h"
#include "tests/dist/comm/ranks.h"

namespace tandem {
namespace {

using testing::on_every_rank;

constexpr int kSteps = 3;

/// Two matrices, a vector, an empty parameter: gradients that any rank can work out for any other.
struct Model {
  Model() {
    parameters.emplace_back("wide", Shape{40, 300}, Init::normal(1), true);
    parameters.emplace_back("bias", Shape{301}, Init::normal(1), false);
    parameters.emplace_back("empty", Shape{0, 5}, Init::normal(1), true);
    parameters.emplace_back("cube", Shape{7, 11, 65}, Init::normal(1), true);
  }
  ParameterList list() {
    ParameterList all;
    for (Parameter& p : parameters) all.push_back(&p);
    return all;
  }
  static float gradient(std::size_t parameter, std::int64_t i, int rank, int step) {
    Philox random(static_cast<std::uint64_t>(1000 * rank + step),
                  static_cast<std::uint64_t>(i) * 8 + parameter);
    return static_cast<float>(random.normal()) * 0.01f;
  }
  std::deque<Parameter> parameters;
};

using MakeHook = std::function<std::unique_ptr<CommHook>()>;
using Gradients = std::vector<std::vector<float>>;  // by step, all parameters after each other

/// What the hook makes of each step's gradients.
Gradients reduced(Context& context, Communicator& communicator, const MakeHook& make, ReducerOptions options,
                  const std::function<float(std::size_t, std::int64_t, int, int)>& gradient,
                  double cap_mb = 0.02, int steps = kSteps) {
  Model model;
  const auto hook = make();
  options.hook = hook.get();
  const auto plan = BucketPlan::make(model.list(), {}, {.cap_mb = cap_mb}, communicator.size());
  const auto store = ParameterStore::allocate(context, plan.layout, model.list());
  Reducer reducer(context, communicator, plan, store, options);
  Gradients result;
  for (int step = 0; step < steps; ++step) {
    for (Parameter& p : model.parameters) p.start_accumulation();
    reducer.start_backward(/*sync=*/true);
    for (std::size_t k = 0; k < model.parameters.size(); ++k) {
      Parameter& p = model.parameters[k];
      for (std::int64_t i = 0; i < p.numel(); ++i)
        p.grad.as<float>()[i] = gradient(k, i, communicator.rank(), step);
      p.next_grad_write();
      reducer.ready(p);
    }
    reducer.finish();
    for (const Bucket& bucket : reducer.buckets()) reducer.wait(bucket);
    auto& all = result.emplace_back();
    for (const Parameter& p : model.parameters)
      all.insert(all.end(), p.grad.as<float>(), p.grad.as<float>() + p.numel());
  }
  return result;
}

/// The sums over all ranks, in double.
std::vector<double> expected(int ranks, int step) {
  Model model;
  std::vector<double> all;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    for (std::int64_t i = 0; i < model.parameters[k].numel(); ++i) {
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += Model::gradient(k, i, rank, step);
      all.push_back(sum);
    }
  return all;
}

/// ‖a − b‖ / ‖b‖ over elements [begin, end).
template <class A>
double distance(const A& a, const std::vector<double>& b, std::size_t begin, std::size_t end) {
  double difference = 0, norm = 0;
  for (std::size_t i = begin; i < end; ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

void expect_same_on_all_ranks(World& world, Context& context, const Gradients& mine) {
  Gradients first = mine;
  for (auto& step : first) {
    world.comm().broadcast(Tensor::of(step.data(), {std::ssize(step)}), 0, context.comm());
    context.comm().synchronize();
  }
  EXPECT_EQ(first, mine);
}

struct Case {
  const char* name;
  MakeHook make;
  double tolerance;  // of a sum over up to four ranks; 0: not checked here
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"allreduce", [] { return make_plain_hook(); }, 1e-6},
      {"bf16", [] { return make_cast_hook(DType::bf16); }, 0x1p-8 * 2},
      {"fp16", [] { return make_cast_hook(DType::f16); }, 0x1p-11 * 2},
      {"powersgd", [] { return make_power_sgd({.rank = 2, .seed = 3}); }, 0},
  };
  return all;
}

TEST(CommHooks, LeaveTheSumOnAllRanks) {
  on_every_rank([](World& world, Context& context) {
    for (const Case& c : cases()) {
      const auto sums = reduced(context, world.comm(), c.make, {}, Model::gradient);
      expect_same_on_all_ranks(world, context, sums);
      for (int step = 0; step < kSteps && c.tolerance > 0; ++step)
        EXPECT_LT(distance(sums[step], expected(world.size(), step), 0, sums[step].size()), c.tolerance)
            << c.name;
    }
  });
}

TEST(CommHooks, OverlapAndViewsChangeNoBit) {
  on_every_rank([](World& world, Context& context) {
    for (const Case& c : cases()) {
      const auto usual = reduced(context, world.comm(), c.make, {}, Model::gradient);
      for (bool overlap : {true, false})
        for (bool view : {true, false}) {
          const ReducerOptions options{.overlap = overlap, .gradient_as_bucket_view = view};
          EXPECT_EQ(reduced(context, world.comm(), c.make, options, Model::gradient), usual)
              << c.name << ", overlap " << overlap << ", view " << view;
        }
    }
  });
}

TEST(CommHooks, SumOnTheOwnShareIsThatOfAllRanks) {
  on_every_rank([](World& world, Context& context) {
    for (const DType wire : {DType::bf16, DType::f16, DType::f64}) {  // f64: as they are
      Model model;
      const auto plan = BucketPlan::make(model.list(), {}, {.cap_mb = 0.02}, world.size());
      const auto store = ParameterStore::allocate(context, plan.layout, model.list());
      const auto hook = [&](SumOn where) {
        return wire == DType::f64 ? make_plain_hook(where) : make_cast_hook(wire, where);
      };
      const auto whole = hook(SumOn::all_ranks), share = hook(SumOn::own_share);
      const auto sums = [&](CommHook& h) {
        for (std::size_t k = 0; k < model.parameters.size(); ++k)
          for (std::int64_t i = 0; i < model.parameters[k].numel(); ++i)
            model.parameters[k].grad.as<float>()[i] = Model::gradient(k, i, world.rank(), 0);
        Arena arena(context, hook_bytes(h, plan));
        for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
          const auto& spec = plan.buckets[b];
          const auto bucket =
              BucketGradients::view(plan, static_cast<int>(b), store.grads().slice(spec.offset, spec.numel));
          h.plan(bucket, arena);
          if (spec.numel > 0) h.run(bucket, world.comm(), context);
        }
        context.comm().synchronize();
        std::vector<float> own;
        for (const LayoutRange& s : plan.shares(world.rank(), world.size())) {
          const auto* values = store.grads().slice(s.offset, s.numel).as<float>();
          own.insert(own.end(), values, values + s.numel);
        }
        return own;
      };
      const auto a = sums(*whole), b = sums(*share);
      if (world.size() <= 2) {
        EXPECT_EQ(a, b);
      }
      const double unit = wire == DType::bf16 ? 0x1p-8 : wire == DType::f16 ? 0x1p-11 : 1e-7;
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], unit * 0.3);
    }
  });
}

TEST(CommHooks, Fp16OverflowsOnlyWhereAGradientDoes) {
  on_every_rank([](World& world, Context& context) {
    const auto large = [](std::size_t k, std::int64_t, int, int) { return k == 0 ? 60000.0f : 1e9f; };
    const auto sums = reduced(
        context, world.comm(), [] { return make_cast_hook(DType::f16); }, {}, large);
    EXPECT_NEAR(sums[0][0], 60000.0 * world.size(), 60000.0 * world.size() * 0x1p-10);
    EXPECT_TRUE(std::isinf(sums[0][40 * 300]));  // and never a wrong number
  });
}

TEST(PowerSgd, ReproducesWhatHasLowRankExactly) {
  on_every_rank([](World& world, Context& context) {
    // Rank r's gradients are outer products; their sum has rank 2 at most.
    const auto gradient = [](std::size_t k, std::int64_t i, int rank, int step) {
      const std::int64_t m = k == 0 ? 300 : k == 3 ? 65 : 1, row = i / m, column = i % m;
      const double u = std::sin(0.3 * static_cast<double>(row + step)),
                   v = std::cos(0.1 * static_cast<double>(column));
      const double w = static_cast<double>(row % 5) - 2, x = 1.0 / static_cast<double>(1 + column);
      return static_cast<float>((1 + rank) * u * v + (2 - rank) * w * x);
    };
    const auto sums = reduced(
        context, world.comm(), [] { return make_power_sgd({.rank = 2, .seed = 1}); }, {}, gradient);
    Model model;
    for (int step = 0; step < kSteps; ++step) {
      std::vector<double> exact;
      for (std::size_t k = 0; k < model.parameters.size(); ++k)
        for (std::int64_t i = 0; i < model.parameters[k].numel(); ++i) {
          double sum = 0;
          for (int rank = 0; rank < world.size(); ++rank) sum += gradient(k, i, rank, step);
          exact.push_back(sum);
        }
      EXPECT_LT(distance(sums[step], exact, 0, exact.size()), 1e-5) << "step " << step;
    }
  });
}

/// The mean of the first `steps` outputs, over a gradient that stays the same, against it.
double distance_of_mean(Context& context, Communicator& communicator, int steps) {
  const auto constant = [](std::size_t k, std::int64_t i, int rank, int) {
    return Model::gradient(k, i, rank, 0);
  };
  const auto sums = reduced(
      context, communicator, [] { return make_power_sgd({.rank = 2, .seed = 1}); }, {}, constant, 0.02,
      steps);
  std::vector<double> mean(sums[0].size());
  for (const auto& sum : sums)
    for (std::size_t i = 0; i < sum.size(); ++i) mean[i] += sum[i] / steps;
  return distance(mean, expected(communicator.size(), 0), 0, 40 * 300);
}

TEST(PowerSgd, ErrorFeedbackLosesNothing) {
  on_every_rank([](World& world, Context& context) {
    // A random matrix has little of it in two directions: a single step misses most. What is missed is made
    // up for later, so the mean of K steps misses the last step's error / K alone.
    const double one = distance_of_mean(context, world.comm(), 1);
    const double many = distance_of_mean(context, world.comm(), 160);
    EXPECT_GT(one, 0.8);
    EXPECT_LT(many, 0.25);
  });
}

TEST(PowerSgd, RecoversFromAGradientOfZero) {
  on_every_rank([](World& world, Context& context) {
    const auto late = [](std::size_t k, std::int64_t i, int, int step) {
      const std::int64_t m = k == 0 ? 300 : k == 3 ? 65 : 1;
      return step < 2 ? 0.0f : static_cast<float>((1 + i / m) * (1 + i % m));  // rank 1
    };
    const auto sums = reduced(
        context, world.comm(), [] { return make_power_sgd({.rank = 2, .seed = 1}); }, {}, late, 0.02, 5);
    EXPECT_EQ(sums[1][17], 0);
    EXPECT_NEAR(sums[4][17], 18.0 * world.size(), 1e-3);
  });
}

}  // namespace
}  // namespace tandem
