#include <cmath>

#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/parallel.h"

namespace tandem::ops::cpu {

namespace {

constexpr std::int64_t kLeast = 2;  // chunks for which a second thread pays

/// Calls `body(chunk)` for the chunks of the range, split among threads.
template <class Body>
void for_chunks(const Context& context, const ChunkRange& range, Body&& body) {
  const auto chunks = range.table.chunks().subspan(static_cast<std::size_t>(range.first),
                                                   static_cast<std::size_t>(range.count));
  parallel_for(context, range.count, 1, kLeast, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(chunks[static_cast<std::size_t>(i)]);
  });
}

/// Σ x² in fp64, in sixteen interleaved partial sums.
template <class T>
double sum_of_squares(const T* x, std::int64_t count) {
  constexpr int kSums = 16;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int j = 0; j < kSums; ++j) sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  for (int j = 0; i + j < count; ++j)
    sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

void sgd_update(Context& context, const SgdRule& rule, const Tensor& scalars, const ChunkRange& range,
                const Tensor& value, const Tensor&, const Tensor& grad, const Tensor& momentum) {
  const auto* scalar = scalars.as<double>();
  if (scalar[kSkip] != 0) return;
  const bool first = scalar[kStep] <= 1;
  visit_floating(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *x = value.as<T>(), *buffer = momentum ? momentum.as<T>() : nullptr;
    const T* gradient = grad.as<T>();
    const T grad_scale = static_cast<T>(scalar[kGradScale]), mu = static_cast<T>(rule.momentum);
    const T kept = first ? T(0) : mu;  // of the momentum buffer, which the first step sets
    for_chunks(context, range, [&](const Segment& chunk) {
      const std::int64_t begin = chunk.offset, end = chunk.offset + chunk.count;
      const T decay = chunk.weight_decay, rate = static_cast<T>(scalar[kLearningRate] * chunk.lr_scale);
      if (!buffer) {
#pragma GCC ivdep
        for (std::int64_t i = begin; i < end; ++i) x[i] -= rate * (gradient[i] * grad_scale + decay * x[i]);
        return;
      }
      // The step is g·from_gradient + m·from_momentum, of either form of momentum.
      const T from_gradient = rule.nesterov ? T(1) : T(0), from_momentum = rule.nesterov ? mu : T(1);
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * grad_scale + decay * x[i];
        const T m = first ? g : kept * buffer[i] + g;
        buffer[i] = m;
        x[i] -= rate * (from_gradient * g + from_momentum * m);
      }
    });
  });
}

void adamw_update(Context& context, const AdamWRule& rule, const Tensor& scalars, const ChunkRange& range,
                  const Tensor& value, const Tensor&, const Tensor& grad, const Tensor& m, const Tensor& v) {
  const auto* scalar = scalars.as<double>();
  if (scalar[kSkip] != 0) return;
  const double correction1 = 1 - std::pow(rule.beta1, scalar[kStep]);
  const double correction2 = 1 - std::pow(rule.beta2, scalar[kStep]);
  visit_floating(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *x = value.as<T>(), *first = m.as<T>(), *second = v.as<T>();
    const T* gradient = grad.as<T>();
    const T grad_scale = static_cast<T>(scalar[kGradScale]), epsilon = static_cast<T>(rule.epsilon);
    const T beta1 = static_cast<T>(rule.beta1), rest1 = static_cast<T>(1 - rule.beta1);
    const T beta2 = static_cast<T>(rule.beta2), rest2 = static_cast<T>(1 - rule.beta2);
    const T root_correction2 = static_cast<T>(1 / std::sqrt(correction2));
    for_chunks(context, range, [&](const Segment& chunk) {
      const double lr = scalar[kLearningRate] * chunk.lr_scale;
      const T rate = static_cast<T>(lr / correction1), kept = static_cast<T>(1 - lr * chunk.weight_decay);
#pragma GCC ivdep
      for (std::int64_t i = chunk.offset; i < chunk.offset + chunk.count; ++i) {
        const T g = gradient[i] * grad_scale;
        const T mean = first[i] = beta1 * first[i] + rest1 * g;
        const T square = second[i] = beta2 * second[i] + rest2 * g * g;
        x[i] = kept * x[i] - rate * mean / (std::sqrt(square) * root_correction2 + epsilon);
      }
    });
  });
}

void sums_of_squares(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums) {
  auto* sum = sums.as<double>();
  visit_floating(grad.dtype(), [&](auto zero) {
    const auto* gradient = grad.as<decltype(zero)>();
    for_chunks(context, {table, 0, std::ssize(table.chunks())}, [&](const Segment& chunk) {
      sum[&chunk - table.chunks().data()] = sum_of_squares(gradient + chunk.offset, chunk.count);
    });
  });
}

void norm_of_sums(Context&, const Tensor& sums, const Tensor& norm) {
  double total = 0;
  for (std::int64_t i = 0; i < sums.numel(); ++i) total += sums.as<double>()[i];
  *norm.as<double>() = std::sqrt(total);
}

void clip_scale(Context&, const Tensor& norm, double max_norm, const Tensor& scalars) {
  const double length = *norm.as<double>();
  if (length > max_norm) scalars.as<double>()[kGradScale] *= max_norm / (length + 1e-6);
}

void unscale(Context&, const LossScaleRule& rule, const Tensor& norm, const Tensor& state,
             const Tensor& scalars) {
  double &length = *norm.as<double>(), *value = state.as<double>(), *scalar = scalars.as<double>();
  if (std::isfinite(length)) {
    scalar[kGradScale] /= value[kScale];
    length /= value[kScale];
    if (++value[kGoodSteps] >= static_cast<double>(rule.interval)) {
      value[kScale] *= rule.growth;
      value[kGoodSteps] = 0;
    }
  } else {
    scalar[kSkip] = 1;
    value[kScale] = std::fmax(1.0, value[kScale] * rule.backoff);
    value[kGoodSteps] = 0;
    ++value[kSkippedSteps];
  }
  scalar[kStep] -= value[kSkippedSteps];
}

}  // namespace tandem::ops::cpu
