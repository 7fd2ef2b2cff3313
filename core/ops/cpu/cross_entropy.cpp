#include <algorithm>
#include <cmath>
#include <optional>

#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

namespace tandem::ops::cpu {

namespace {

struct RowLoss {
  double loss = 0;
  std::int64_t correct = 0;
};

/// Loss of one row of logits [V]; with a seed, the row becomes its gradient.
template <class T>
RowLoss row_loss(T* logits, std::int64_t classes, std::int64_t target, const std::optional<double>& seed) {
  Vec<T> maxima = Vec<T>{} + logits[0];
  for_vectors<T>(0, classes, [&](auto at) { maxima = max<T>(maxima, at.load(logits, logits[0])); });
  const T maximum = max<T>(maxima), logit = logits[target];
  const bool correct = logit == maximum && std::find(logits, logits + target, maximum) == logits + target;

  Vec<T> sums{};
  for_vectors<T>(0, classes, [&](auto at) {
    const Vec<T> e = exp<T>(at.load(logits, -std::numeric_limits<T>::infinity()) - maximum);
    if (seed) at.store(logits, e);
    sums += e;
  });
  const double sum = cpu::sum<T>(sums);
  if (seed) {
    const T scale = static_cast<T>(*seed / sum);
    for_vectors<T>(0, classes, [&](auto at) { at.store(logits, at.load(logits) * scale); });
    logits[target] -= static_cast<T>(*seed);
  }
  return {std::log(sum) + static_cast<double>(maximum) - static_cast<double>(logit), correct};
}

/// Both functions; without a seed the logits are only read.
void cross_entropy(Context& context, const Tensor& logits, std::int64_t classes, const Tensor& targets,
                   const std::optional<double>& seed, const Tensor& loss_sum, const Tensor& correct) {
  const std::int64_t rows = logits.rows(), columns = logits.last();
  const auto* target = targets.as<std::int32_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    require(target[row] >= -1 && target[row] < classes,
            "cross entropy: the target of row {} is {}, of {} classes", row, target[row], classes);

  // A fixed number of chunks, whoever computes them, so that the sum does not depend on the number of
  // threads.
  constexpr std::int64_t kChunks = 64;
  RowLoss chunks[kChunks];
  visit_floating(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* all = logits.as<T>();
    parallel_for(context, kChunks, 1, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk)
        for (std::int64_t row = rows * chunk / kChunks; row < rows * (chunk + 1) / kChunks; ++row) {
          T* row_logits = all + row * columns;
          if (target[row] >= 0) {
            const RowLoss result = row_loss(row_logits, classes, target[row], seed);
            chunks[chunk].loss += result.loss;
            chunks[chunk].correct += result.correct;
            if (seed) std::fill(row_logits + classes, row_logits + columns, T(0));
          } else if (seed) {
            std::fill_n(row_logits, columns, T(0));
          }
        }
    });
  });
  RowLoss total;
  for (const RowLoss& chunk : chunks) {
    total.loss += chunk.loss;
    total.correct += chunk.correct;
  }
  *loss_sum.as<double>() = total.loss;
  *correct.as<std::int64_t>() = total.correct;
}

}  // namespace

void cross_entropy_forward(Context& context, const Tensor& logits, std::int64_t classes,
                           const Tensor& targets, const Tensor& loss_sum, const Tensor& correct) {
  cross_entropy(context, logits, classes, targets, std::nullopt, loss_sum, correct);
}

void cross_entropy_forward_backward(Context& context, const Tensor& logits, std::int64_t classes,
                                    const Tensor& targets, const Tensor& seed, const Tensor& loss_sum,
                                    const Tensor& correct) {
  cross_entropy(context, logits, classes, targets, *seed.as<double>(), loss_sum, correct);
}

}  // namespace tandem::ops::cpu
