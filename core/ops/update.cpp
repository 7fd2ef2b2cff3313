#include "core/ops/update.h"

#include <algorithm>

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

std::vector<Segment> cut(std::span<const Segment> segments) {
  std::vector<Segment> chunks;
  for (const Segment& segment : segments)
    for (std::int64_t at = 0; at == 0 || at < segment.count; at += SegmentTable::kChunk) {
      Segment chunk = segment;
      chunk.offset += at;
      chunk.count = std::min(SegmentTable::kChunk, segment.count - at);
      chunks.push_back(chunk);
    }
  return chunks;
}

void check_range(const ChunkRange& range, const Tensor& flat) {
  const auto chunks = range.table.chunks();
  require(range.first >= 0 && range.count >= 0 && range.first + range.count <= std::ssize(chunks),
          "update: chunks [{}, +{}) of {}", range.first, range.count, chunks.size());
  for (std::int64_t i = range.first; i < range.first + range.count; ++i)
    require(chunks[i].offset >= 0 && chunks[i].offset + chunks[i].count <= flat.numel(),
            "update: segment [{}, +{}) of {} elements", chunks[i].offset, chunks[i].count, flat.numel());
}

void check_flat(const Tensor& value, const Tensor& other, DType dtype, const char* what) {
  require(other.numel() == value.numel() && other.dtype() == dtype, "update: {} {} {} for values {} {}", what,
          name_of(other.dtype()), other.shape().str(), name_of(value.dtype()), value.shape().str());
}

void check_numbers(const Tensor& numbers, std::int64_t count, const char* what) {
  require(numbers.dtype() == DType::f64 && numbers.numel() == count, "update: {} {} {}", what,
          name_of(numbers.dtype()), numbers.shape().str());
}

void check(const Tensor& scalars, const ChunkRange& range, const Tensor& value, const Tensor& master,
           const Tensor& grad) {
  check_numbers(scalars, kScalars, "scalars");
  check_range(range, value);
  check_flat(value, master, accumulator_of(value.dtype()), "master copy");
  require(value.dtype() != master.dtype() || value.data() == master.data(),
          "update: values of {} are their own master copy", name_of(value.dtype()));
  check_flat(value, grad, grad.dtype() == DType::f32 ? DType::f32 : value.dtype(), "gradient");
}

}  // namespace

SegmentTable::SegmentTable(Context& context, std::span<const Segment> segments) : chunks_(cut(segments)) {
  if (chunks_.empty()) return;
  const std::size_t bytes = chunks_.size() * sizeof(Segment);
  memory_ = context.memory(static_cast<std::int64_t>(bytes));
  context.compute().copy(memory_.data(), chunks_.data(), bytes);
  context.compute().synchronize();
}

void sgd_update(Context& context, const SgdRule& rule, const Tensor& scalars, const ChunkRange& range,
                const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& momentum) {
  check(scalars, range, value, master, grad);
  if (momentum) check_flat(value, momentum, master.dtype(), "momentum");
  if (range.count > 0)
    table_of(context).sgd_update(context, rule, scalars, range, value, master, grad, momentum);
}

void adamw_update(Context& context, const AdamWRule& rule, const Tensor& scalars, const ChunkRange& range,
                  const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& m,
                  const Tensor& v) {
  check(scalars, range, value, master, grad);
  check_flat(value, m, master.dtype(), "first moment");
  check_flat(value, v, master.dtype(), "second moment");
  if (range.count > 0)
    table_of(context).adamw_update(context, rule, scalars, range, value, master, grad, m, v);
}

void sums_of_squares(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums) {
  check_range({table, 0, std::ssize(table.chunks())}, grad);
  check_numbers(sums, std::ssize(table.chunks()), "sums of squares");
  if (sums.numel() > 0) table_of(context).sums_of_squares(context, table, grad, sums);
}

void norm_of_sums(Context& context, const Tensor& sums, const Tensor& norm) {
  check_numbers(sums, sums.numel(), "sums of squares");
  check_numbers(norm, 1, "norm");
  table_of(context).norm_of_sums(context, sums, norm);
}

void gradient_norm(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums,
                   const Tensor& norm) {
  sums_of_squares(context, table, grad, sums);
  norm_of_sums(context, sums, norm);
}

void clip_scale(Context& context, const Tensor& norm, double max_norm, const Tensor& scalars) {
  check_numbers(norm, 1, "norm");
  check_numbers(scalars, kScalars, "scalars");
  table_of(context).clip_scale(context, norm, max_norm, scalars);
}

void unscale(Context& context, const LossScaleRule& rule, const Tensor& norm, const Tensor& state,
             const Tensor& scalars) {
  check_numbers(norm, 1, "norm");
  check_numbers(state, kLossScaleValues, "loss scale");
  check_numbers(scalars, kScalars, "scalars");
  table_of(context).unscale(context, rule, norm, state, scalars);
}

}  // namespace tandem::ops
