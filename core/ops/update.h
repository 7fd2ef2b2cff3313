#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// A run of elements of flat memory that belong to one parameter; what lies between segments is padding and
/// is not touched.
struct Segment {
  std::int64_t offset, count;  ///< in elements, from the start of the flat memory
  float lr_scale;              ///< multiplies the learning rate
  float weight_decay;          ///< 0 where the parameter does not decay
};

/// Segments as the device reads them: cut into chunks of at most kChunk elements, which work is shared out
/// by, in the order in which they were given. Made once; a step only names a range of chunks.
class SegmentTable {
 public:
  static constexpr std::int64_t kChunk = 1 << 14;

  /// An empty segment becomes an empty chunk.
  SegmentTable(Context& context, std::span<const Segment> segments);

  std::span<const Segment> chunks() const { return chunks_; }
  /// The same in device memory: [chunks().size()] of Segment.
  const Segment* device_chunks() const { return reinterpret_cast<const Segment*>(memory_.data()); }

 private:
  std::vector<Segment> chunks_;
  DeviceMemory memory_;
};

/// Chunks [first, first + count) of a table.
struct ChunkRange {
  const SegmentTable& table;
  std::int64_t first, count;
};

/// What changes from step to step lies in device memory, so that a captured step can be replayed: [kScalars]
/// f64, by these indices.
enum StepScalar : std::int64_t {
  kLearningRate,
  kGradScale,  ///< multiplies every gradient: 1, or less when clipping
  kStep,       ///< counts updates from 1: Adam's corrections; SGD's first one sets the momentum buffer
  kSkip,       ///< not 0: this step's updates change nothing
  kScalars
};

// Flat tensors of one length; only the range's chunks are updated. `value` is what the model computes with
// (f32, f64, bf16, f16), `master` its exact copy (f32; `value` itself where that is f32 or f64), which the
// rule works on before rounding it to `value`. `grad` is of value's dtype or f32, the optimizer's state of
// master's.

struct SgdRule {
  double momentum;
  bool nesterov;
};

/// g = grad·grad_scale + weight_decay·master; m = first step ? g : momentum·m + g; master −= lr·lr_scale·
/// (nesterov ? g + momentum·m : m). An empty momentum tensor is plain SGD. Source: Sutskever et al. 2013, in
/// PyTorch's form.
void sgd_update(Context& context, const SgdRule& rule, const Tensor& scalars, const ChunkRange& range,
                const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& momentum);

struct AdamWRule {
  double beta1, beta2, epsilon;
};

/// AdamW with decoupled decay (Loshchilov & Hutter 2019), t = scalars[kStep]: m̂ = m/(1 − beta1^t), v̂ = v/(1 −
/// beta2^t), master −= lr·lr_scale·(weight_decay·master + m̂/(√v̂ + ε)).
void adamw_update(Context& context, const AdamWRule& rule, const Tensor& scalars, const ChunkRange& range,
                  const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& m,
                  const Tensor& v);

/// sums [chunks] f64: sums[i] = Σ grad² over chunk i of the table, in fp64; 0 for an empty one.
void sums_of_squares(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums);

/// norm [1] f64 = √(Σ sums), added in order. `sums`: f64.
void norm_of_sums(Context& context, const Tensor& sums, const Tensor& norm);

/// Both: norm = √(Σ grad²) over all chunks of the table, which depends on neither buckets nor threads.
/// `sums`: [chunks] f64 of scratch.
void gradient_norm(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums,
                   const Tensor& norm);

/// scalars[kGradScale] *= what brings a gradient of this norm to at most `max_norm`: 1 if it is not above it,
/// else max_norm/(norm + 1e-6), as PyTorch.
void clip_scale(Context& context, const Tensor& norm, double max_norm, const Tensor& scalars);

/// A dynamic loss scale in device memory, from step to step: [kLossScaleValues] f64.
enum LossScaleValue : std::int64_t {
  kScale,         ///< what the loss is multiplied by, so that short gradients do not underflow
  kGoodSteps,     ///< since the scale last changed
  kSkippedSteps,  ///< since the start
  kLossScaleValues
};

/// Micikevicius et al. 2018, with the figures of PyTorch's GradScaler.
struct LossScaleRule {
  double growth = 2, backoff = 0.5;
  std::int64_t interval = 2000;  ///< good steps from one growth to the next
};

/// Ends a step whose gradients carry the factor state[kScale], `norm` [1] being theirs. Finite:
/// scalars[kGradScale]
/// *= 1/scale, norm /= scale, and after `interval` such steps the scale grows. Otherwise: scalars[kSkip] = 1,
/// and the scale shrinks (never below 1). Either way scalars[kStep] no longer counts the steps skipped so
/// far.
void unscale(Context& context, const LossScaleRule& rule, const Tensor& norm, const Tensor& state,
             const Tensor& scalars);

}  // namespace tandem::ops
