#include "core/ops/update.h"

#include <algorithm>
#include <cmath>

#include "core/ops/cpu/parallel.h"

namespace tandem::ops {

namespace {

constexpr std::int64_t kLeast = 1 << 15;  // elements for which a second thread pays

/// Calls `body(segment, begin, end)` for all elements [begin, end) of each segment, split among threads.
template <class Body>
void for_segments(const Context& context, std::span<const Segment> segments, const Tensor& flat,
                  Body&& body) {
  for (const Segment& segment : segments) {
    require(segment.offset >= 0 && segment.count >= 0 && segment.offset + segment.count <= flat.numel(),
            "update: segment [{}, +{}) of {} elements", segment.offset, segment.count, flat.numel());
    cpu::parallel_for(context, segment.count, 64, kLeast, [&](std::int64_t begin, std::int64_t end) {
      body(segment, segment.offset + begin, segment.offset + end);
    });
  }
}

void check_flat(const Tensor& value, const Tensor& other, const char* what) {
  require(other.numel() == value.numel() && other.dtype() == value.dtype(),
          "update: {} {} {} for values {} {}", what, name_of(other.dtype()), other.shape().str(),
          name_of(value.dtype()), value.shape().str());
}

}  // namespace

void sgd_update(Context& context, const SgdStep& step, std::span<const Segment> segments, const Tensor& value,
                const Tensor& grad, const Tensor& momentum) {
  check_flat(value, grad, "gradient");
  if (momentum) check_flat(value, momentum, "momentum");
  visit_floating(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *x = value.as<T>(), *buffer = momentum ? momentum.as<T>() : nullptr;
    const T* gradient = grad.as<T>();
    const T grad_scale = static_cast<T>(step.grad_scale), mu = static_cast<T>(step.momentum);
    const T kept = step.first ? T(0) : mu;  // of the momentum buffer, which the first step sets
    for_segments(context, segments, value, [&](const Segment& segment, std::int64_t begin, std::int64_t end) {
      const T decay = segment.weight_decay, rate = static_cast<T>(step.lr * segment.lr_scale);
      if (!buffer) {
#pragma GCC ivdep
        for (std::int64_t i = begin; i < end; ++i) x[i] -= rate * (gradient[i] * grad_scale + decay * x[i]);
        return;
      }
      // The step is g·from_gradient + m·from_momentum, of either form of momentum.
      const T from_gradient = step.nesterov ? T(1) : T(0), from_momentum = step.nesterov ? mu : T(1);
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * grad_scale + decay * x[i];
        const T m = step.first ? g : kept * buffer[i] + g;
        buffer[i] = m;
        x[i] -= rate * (from_gradient * g + from_momentum * m);
      }
    });
  });
}

void adamw_update(Context& context, const AdamWStep& step, std::span<const Segment> segments,
                  const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v) {
  check_flat(value, grad, "gradient");
  check_flat(value, m, "first moment");
  check_flat(value, v, "second moment");
  visit_floating(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *x = value.as<T>(), *first = m.as<T>(), *second = v.as<T>();
    const T* gradient = grad.as<T>();
    const T grad_scale = static_cast<T>(step.grad_scale), epsilon = static_cast<T>(step.epsilon);
    const T beta1 = static_cast<T>(step.beta1), rest1 = static_cast<T>(1 - step.beta1);
    const T beta2 = static_cast<T>(step.beta2), rest2 = static_cast<T>(1 - step.beta2);
    const T root_correction2 = static_cast<T>(1 / std::sqrt(step.correction2));
    for_segments(context, segments, value, [&](const Segment& segment, std::int64_t begin, std::int64_t end) {
      const double lr = step.lr * segment.lr_scale;
      const T rate = static_cast<T>(lr / step.correction1),
              kept = static_cast<T>(1 - lr * segment.weight_decay);
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * grad_scale;
        const T mean = first[i] = beta1 * first[i] + rest1 * g;
        const T square = second[i] = beta2 * second[i] + rest2 * g * g;
        x[i] = kept * x[i] - rate * mean / (std::sqrt(square) * root_correction2 + epsilon);
      }
    });
  });
}

namespace {

/// Σ x² in fp64, in sixteen interleaved partial sums.
template <class T>
double chunk_sum_of_squares(const T* x, std::int64_t count) {
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

void sum_of_squares(Context& context, std::span<const Segment> segments, const Tensor& grad,
                    std::span<double> sums) {
  // Chunks of a fixed size, in waves of a fixed number whose sums the stack can hold.
  constexpr std::int64_t kChunk = 1 << 14, kWave = 64;
  require(sums.size() == segments.size(), "sum of squares: {} sums for {} segments", sums.size(),
          segments.size());
  visit_floating(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const auto [offset, count, lr_scale, weight_decay] = segments[s];
      require(offset >= 0 && count >= 0 && offset + count <= grad.numel(),
              "sum of squares: segment [{}, +{}) of {} elements", offset, count, grad.numel());
      const T* start = grad.as<T>() + offset;
      const std::int64_t chunks = (count + kChunk - 1) / kChunk;
      sums[s] = 0;
      for (std::int64_t wave = 0; wave < chunks; wave += kWave) {
        const std::int64_t in_wave = std::min(kWave, chunks - wave);
        double partial[kWave];
        const std::int64_t total = count;
        cpu::parallel_for(context, in_wave, 1, 2, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t c = begin; c < end; ++c) {
            const std::int64_t first = (wave + c) * kChunk;
            partial[c] = chunk_sum_of_squares(start + first, std::min(kChunk, total - first));
          }
        });
        for (std::int64_t c = 0; c < in_wave; ++c) sums[s] += partial[c];
      }
    }
  });
}

}  // namespace tandem::ops
