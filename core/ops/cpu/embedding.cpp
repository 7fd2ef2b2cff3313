#include <algorithm>

#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/parallel.h"

namespace tandem::ops::cpu {

namespace {

constexpr std::int64_t kLeastRows = 64, kStripe = 64;

/// The host can look; a GPU's ids are checked when the data is read.
void check_ids(const Tensor& ids, std::int64_t vocabulary) {
  const auto* id = ids.as<std::int32_t>();
  const auto* bad =
      std::find_if(id, id + ids.numel(), [=](std::int32_t i) { return i < 0 || i >= vocabulary; });
  require(bad == id + ids.numel(), "embedding: an id is {}, the vocabulary has {}",
          bad == id + ids.numel() ? 0 : *bad, vocabulary);
}

}  // namespace

void embedding_forward(Context& context, const Tensor& ids, const Tensor& table, const Tensor& positions,
                       const Tensor& y) {
  const std::int64_t sequence = ids.last(), width = y.last();
  check_ids(ids, table.rows());
  visit_floating(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* id = ids.as<std::int32_t>();
    const T *tokens = table.as<T>(), *places = positions.as<T>();
    T* out = y.as<T>();
    parallel_for(context, ids.numel(), 1, kLeastRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T *token = tokens + id[row] * width, *place = places + row % sequence * width;
        for (std::int64_t j = 0; j < width; ++j) out[row * width + j] = token[j] + place[j];
      }
    });
  });
}

void embedding_backward_table(Context& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable,
                              Write write) {
  const std::int64_t width = dy.last();
  check_ids(ids, dtable.rows());
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* id = ids.as<std::int32_t>();
    const T* gradient = dy.as<T>();
    T* out = dtable.as<T>();
    if (write == Write::assign) std::fill_n(out, dtable.numel(), T(0));
    // Threads share the columns, not the tokens: each element is added to in the order of the tokens.
    parallel_for(context, width, kStripe, kStripe, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < ids.numel(); ++row) {
        T* token = out + id[row] * width;
        for (std::int64_t j = begin; j < end; ++j) token[j] += gradient[row * width + j];
      }
    });
  });
}

void embedding_backward_positions(Context& context, const Tensor& dy, const Tensor& dpositions, Write write) {
  const std::int64_t batch = dy.shape()[0], sequence = dy.shape()[1], width = dy.last();
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* gradient = dy.as<T>();
    T* out = dpositions.as<T>();
    if (write == Write::assign) std::fill_n(out, dpositions.numel(), T(0));
    parallel_for(context, sequence, 1, kLeastRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t i = begin * width; i < end * width; ++i)
          out[i] += gradient[b * sequence * width + i];
    });
  });
}

}  // namespace tandem::ops::cpu
