#include "examples/train/comm_hook.h"

#include <charconv>

#include "core/base/error.h"
#include "examples/power_sgd.h"
#include "examples/train/device.h"

namespace tandem::train {

namespace {

const std::string kPowerSgd = "powersgd:";

/// The RANK of powersgd:RANK.
std::int64_t rank_of(const std::string& hook) {
  std::int64_t rank = 0;
  const char *begin = hook.data() + kPowerSgd.size(), *end = hook.data() + hook.size();
  const auto [last, error] = std::from_chars(begin, end, rank);
  if (error != std::errc() || last != end || rank < 1 || rank > 1024)
    throw UsageError("--comm-hook {}: give a rank from 1 to 1024, as in powersgd:2", hook);
  return rank;
}

}  // namespace

void check_hook(const Options& o) {
  const bool compresses = o.comm_hook != "allreduce";
  if (o.comm_hook.rfind(kPowerSgd, 0) == 0)
    rank_of(o.comm_hook);
  else if (compresses && o.comm_hook != "bf16" && o.comm_hook != "fp16")
    throw UsageError("--comm-hook {}: choose allreduce, bf16, fp16 or powersgd:RANK", o.comm_hook);
  if (!o.reduce_dtype.empty() && o.reduce_dtype != "fp32")
    throw UsageError("--reduce-dtype {}: choose fp32", o.reduce_dtype);

  const bool fp32 = gradient_dtype(o) == DType::f32;
  if (compresses && !fp32)
    throw UsageError("--comm-hook {} compresses fp32 gradients, and these are {}; add --grad-dtype fp32",
                     o.comm_hook, o.precision);
  if (!o.reduce_dtype.empty() && compresses)
    throw UsageError("--reduce-dtype and --comm-hook {} contradict each other: leave one out", o.comm_hook);
  if (!o.reduce_dtype.empty() && fp32)
    throw UsageError("--reduce-dtype fp32 is for gradients of 16 bits; these are fp32 already");
}

std::unique_ptr<CommHook> make_hook(const Options& o) {
  const SumOn where = o.zero > 0 ? SumOn::own_share : SumOn::all_ranks;
  if (o.comm_hook == "bf16") return make_cast_hook(DType::bf16, where);
  if (o.comm_hook == "fp16") return make_cast_hook(DType::f16, where);
  if (o.comm_hook != "allreduce") return make_power_sgd({.rank = rank_of(o.comm_hook), .seed = o.seed});
  if (!o.reduce_dtype.empty()) return make_cast_hook(DType::f32, where);
  return make_plain_hook(where);
}

}  // namespace tandem::train
