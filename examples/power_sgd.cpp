#include "examples/power_sgd.h"

#include <algorithm>

#include "core/base/philox.h"
#include "core/ops/axpy.h"
#include "core/ops/linear.h"
#include "core/ops/orthonormalize.h"
#include "core/tensor/copy.h"

namespace tandem {

namespace {

/// A gradient that travels as P and Q. Q is kept transposed: what ops::linear_… call a weight.
struct Matrix {
  Tensor gradient, error;  // [n, m]; the error lives on from step to step
  Tensor p, q;             // [n, r], [r, m]
};

/// A gradient that travels as it is, with the bucket's Ps.
struct Plain {
  Tensor gradient, sent;
};

struct BucketState {
  std::vector<Matrix> matrices;
  std::vector<Plain> plain;
  Tensor first, second;  // what the two all-reduces sum: plain gradients and Ps; Qs
  bool started = false;
};

class PowerSgd final : public CommHook {
 public:
  explicit PowerSgd(const PowerSgdOptions& options) : options_(options) {}

  void plan(const BucketGradients& bucket, Arena& arena) override {
    require(bucket.flat.dtype() == DType::f32, "PowerSGD takes gradients of f32, not {}",
            name_of(bucket.flat.dtype()));
    buckets_.resize(std::max(buckets_.size(), static_cast<std::size_t>(bucket.index) + 1));
    BucketState& state = buckets_[static_cast<std::size_t>(bucket.index)] = {};
    std::int64_t first = 0, second = 0;  // elements
    for (const Tensor& gradient : bucket.gradients) {
      const std::int64_t n = gradient.rows(), m = gradient.last(), r = std::min({options_.rank, n, m});
      if (gradient.shape().rank() < 2 || 2 * (n + m) * r >= n * m) {
        state.plain.push_back({gradient, {}});
        first += padded(gradient.numel());
      } else {
        const Tensor matrix = gradient.reshape({n, m});
        state.matrices.push_back({matrix, arena.allocate(matrix.spec()), {}, {}});
        first += padded(n * r);
        second += padded(r * m);
      }
    }
    state.first = arena.allocate(DType::f32, {first});
    state.second = arena.allocate(DType::f32, {second});
    lay_out(state);
  }

  void run(const BucketGradients& bucket, Communicator& communicator, Context& context) override {
    BucketState& state = buckets_.at(static_cast<std::size_t>(bucket.index));
    if (!std::exchange(state.started, true)) draw_first_q(state, context);
    context.on_comm([&state](Context& c) { project(state, c); });
    communicator.all_reduce(state.first, ReduceOp::sum, context.comm());
    context.on_comm([&state](Context& c) { project_back(state, c); });
    communicator.all_reduce(state.second, ReduceOp::sum, context.comm());
    context.on_comm([&state, ranks = communicator.size()](Context& c) { restore(state, ranks, c); });
  }

  std::int64_t wire_bytes(const BucketGradients& bucket) const override {
    const BucketState& state = buckets_.at(static_cast<std::size_t>(bucket.index));
    return state.first.bytes() + state.second.bytes();
  }

 private:
  /// Pieces of a buffer begin where vector access is possible.
  static std::int64_t padded(std::int64_t elements) {
    constexpr std::int64_t kUnit = ParameterLayout::kAlignment;
    return (elements + kUnit - 1) / kUnit * kUnit;
  }

  /// Gives every gradient its place in the two buffers.
  void lay_out(BucketState& state) const {
    std::int64_t first = 0, second = 0;
    const auto take = [](const Tensor& buffer, std::int64_t& at, const Shape& shape) {
      const Tensor piece = buffer.slice(at, shape.numel()).reshape(shape);
      at += padded(shape.numel());
      return piece;
    };
    for (Plain& plain : state.plain) plain.sent = take(state.first, first, plain.gradient.shape());
    for (Matrix& x : state.matrices) {
      const std::int64_t n = x.gradient.shape()[0], m = x.gradient.shape()[1];
      const std::int64_t r = std::min({options_.rank, n, m});
      x.p = take(state.first, first, {n, r});
      x.q = take(state.second, second, {r, m});
    }
  }

  /// The same random numbers on every rank, drawn on the host before the first step's work.
  void draw_first_q(BucketState& state, Context& context) const {
    const std::int64_t count = state.second.numel();
    std::vector<float> numbers(static_cast<std::size_t>(count));
    Philox random(options_.seed, static_cast<std::uint64_t>(&state - buckets_.data()));
    for (float& x : numbers) x = static_cast<float>(random.normal());
    context.comm().copy(state.second.data(), numbers.data(), numbers.size() * sizeof(float));
    context.comm().synchronize();
  }

  static void project(BucketState& state, Context& c) {
    for (const Plain& plain : state.plain) copy(c.compute(), plain.gradient, plain.sent);
    for (const Matrix& x : state.matrices) {
      ops::axpy(c, 1, x.gradient, x.error);  // from here on `error` holds M
      ops::linear_forward(c, x.error, x.q, /*bias=*/{}, /*addend=*/{}, x.p);
    }
  }

  static void project_back(BucketState& state, Context& c) {
    for (const Plain& plain : state.plain) copy(c.compute(), plain.sent, plain.gradient);
    for (const Matrix& x : state.matrices) {
      ops::orthonormalize(c, x.p);
      ops::linear_backward_weight(c, x.p, x.error, x.q, Write::assign);
    }
  }

  static void restore(BucketState& state, int ranks, Context& c) {
    for (const Matrix& x : state.matrices) {
      ops::linear_backward_input(c, x.p, x.q, x.gradient);
      ops::axpy(c, -1.0 / ranks, x.gradient, x.error);
    }
  }

  PowerSgdOptions options_;
  std::vector<BucketState> buckets_;
};

}  // namespace

std::unique_ptr<CommHook> make_power_sgd(const PowerSgdOptions& options) {
  require(options.rank >= 1, "PowerSGD of rank {}", options.rank);
  return std::make_unique<PowerSgd>(options);
}

}  // namespace tandem
