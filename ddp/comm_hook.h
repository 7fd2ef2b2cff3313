#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/comm/communicator.h"
#include "core/tensor/arena.h"
#include "ddp/bucket_plan.h"

namespace tandem {

/// A bucket's gradients, as a hook sees them.
struct BucketGradients {
  int index = 0;
  const BucketSpec* spec = nullptr;
  Tensor flat;                    ///< [numel]: all of it, padding (zeros, which stay zeros) included
  std::vector<Tensor> gradients;  ///< each parameter's, in its shape and without padding: slices of `flat`

  /// Bucket `index` of the plan in memory of its own, `flat`, which may be of a measuring arena.
  static BucketGradients view(const BucketPlan& plan, int index, const Tensor& flat);
};

/// What is done to a bucket when it is full, in place of an all-reduce: a way to send less. The Reducer calls
/// `run` for each bucket, in one order on all ranks, on the comm stream, behind the bucket's last gradient.
///
/// A hook leaves in `flat` the sum over the ranks (not their mean: the loss seed has done the dividing), with
/// the same bits on all of them, or an approximation of it; under ZeRO-1 this rank's share alone is read
/// (block rank() of size() equal ones), so that there a reduce-scatter will do. It communicates by
/// `communicator` on context.comm(), computes by context.on_comm(), and allocates nothing: on a GPU its work
/// is captured with the step. One hook serves one Reducer, and may keep state from step to step; that lives
/// on each rank.
///
/// make_cast_hook() is a short one to start from, examples/power_sgd.h one with state.
class CommHook {
 public:
  virtual ~CommHook() = default;

  /// Reserves what `run` needs for this bucket: called for every bucket in order, over a measuring arena
  /// first (tensors have shapes, but no memory), then over a real one, whose memory is zero.
  virtual void plan(const BucketGradients& bucket, Arena& arena) {
    static_cast<void>(bucket), static_cast<void>(arena);
  }
  virtual void run(const BucketGradients& bucket, Communicator& communicator, Context& context) = 0;

  /// Bytes that the planned bucket's collectives move, counted as those of an all-reduce, of which each rank
  /// sends 2(P − 1)/P times as many: n bytes reduce-scattered (or gathered) count as n/2.
  virtual std::int64_t wire_bytes(const BucketGradients& bucket) const = 0;
};

/// Where the sum is wanted: on all ranks, or, as ZeRO-1 does with it, each rank's share on that rank alone.
enum class SumOn { all_ranks, own_share };

/// The default: all-reduces the bucket as it is, or reduce-scatters it.
std::unique_ptr<CommHook> make_plain_hook(SumOn where = SumOn::all_ranks);

/// Sends `wire` in place of the gradients' own type: bf16 or f16 halve the bytes of f32 gradients; f32 sums
/// bf16 gradients in f32, for twice the bytes. The sum is made in `wire`.
///
/// f16 ends at 65504. So that a sum over P ranks overflows only where a gradient itself would, each rank
/// sends its gradient divided by the power of two that is at least P, which is exact; the sum is multiplied
/// by it. (PyTorch's fp16_compress_hook divides by P, for the same reason.) What does not fit becomes
/// infinite, never a wrong number. Below 2^-24 times that power gradients vanish: bf16 has the range of f32.
std::unique_ptr<CommHook> make_cast_hook(DType wire, SumOn where = SumOn::all_ranks);

/// Bytes of memory that the hook reserves for all buckets of a plan.
std::int64_t hook_bytes(CommHook& hook, const BucketPlan& plan);
/// CommHook::wire_bytes() of each bucket. Plans the hook, without memory.
std::vector<std::int64_t> wire_bytes(CommHook& hook, const BucketPlan& plan);

}  // namespace tandem
