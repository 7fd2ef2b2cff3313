#include "examples/train/product_rate.h"

#include <algorithm>
#include <vector>

#include "core/base/philox.h"
#include "core/ops/convert.h"
#include "core/ops/linear.h"
#include "core/ops/tuning.h"
#include "core/tensor/arena.h"
#include "core/tensor/copy.h"
#include "examples/train/device.h"

namespace tandem::train {

namespace {

constexpr std::int64_t kSize = 8192;
constexpr int kRounds = 5, kProducts = 10;

/// Random numbers, the same few over and over: zeros would draw less power, and be multiplied faster.
void fill(Context& context, const Tensor& matrix) {
  constexpr std::int64_t kDrawn = 1 << 20;
  Arena staging_memory(context, kDrawn * 4, DeviceMemory::Kind::staging), memory(context, kDrawn * 4);
  const Tensor staged = staging_memory.allocate(DType::f32, {kDrawn}),
               drawn = memory.allocate(DType::f32, {kDrawn});
  Philox random(0);
  for (std::int64_t i = 0; i < kDrawn; ++i) staged.as<float>()[i] = static_cast<float>(random.normal());
  copy(context.compute(), staged, drawn);
  for (std::int64_t at = 0; at < matrix.numel(); at += kDrawn) {
    const Tensor part = matrix.slice(at, kDrawn);
    if (part.dtype() == DType::f32)
      copy(context.compute(), drawn, part);
    else
      ops::convert(context, drawn, part);
  }
  context.compute().synchronize();
}

}  // namespace

std::optional<double> measure_product_rate(Context& context, const Options& options) {
  if (context.device().kind == DeviceKind::cpu) return {};
  const TensorSpec matrix{compute_dtype(options), {kSize, kSize}};
  Arena measure;
  for (int i = 0; i < 3; ++i) measure.allocate(matrix);
  if (context.memory_info().free < 2 * measure.peak()) return {};
  Arena arena(context, measure.peak());
  const Tensor x = arena.allocate(matrix), w = arena.allocate(matrix), y = arena.allocate(matrix);
  fill(context, x);
  fill(context, w);

  const auto multiply = [&] { ops::linear_forward(context, x, w, /*bias=*/{}, /*addend=*/{}, y); };
  if (!options.deterministic) ops::set_tuning(context, ops::Tuning::on);
  multiply();
  ops::set_tuning(context, ops::Tuning::off);
  std::vector<double> us;
  TimeMark start = context.make_time_mark(), end = context.make_time_mark();
  for (int round = 0; round < kRounds; ++round) {
    context.compute().mark(start);
    for (int i = 0; i < kProducts; ++i) multiply();
    context.compute().mark(end);
    context.compute().synchronize();
    us.push_back(end.us_since(start) / kProducts);
  }
  std::nth_element(us.begin(), us.begin() + kRounds / 2, us.end());
  return 2.0 * kSize * kSize * kSize / (us[kRounds / 2] * 1e-6);
}

}  // namespace tandem::train
