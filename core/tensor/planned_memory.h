#pragma once

#include <cstdint>

#include "core/tensor/arena.h"

namespace tandem {

/// The memory that something runs in, as planned in two passes: `plan` is a function of a MemoryPlan& that
/// reserves everything. It runs over measuring arenas first, then over arenas of the measured size, which are
/// then sealed.
///
///     PlannedMemory memory(context, [&](MemoryPlan& m) { model.plan(m, input); });
class PlannedMemory {
 public:
  template <class Plan>
  PlannedMemory(const Context& context, Plan&& plan) {
    const Bytes needed = measure(context, plan);
    saved_ = Arena(context, needed.saved);
    scratch_ = Arena(context, needed.scratch);
    MemoryPlan memory{context, saved_, scratch_};
    plan(memory);
    saved_.seal();
    scratch_.seal();
  }

  struct Bytes {
    std::int64_t saved = 0;    ///< activations and outputs, from forward to backward
    std::int64_t scratch = 0;  ///< temporaries, shared by all modules
  };
  /// The first pass alone: what it would take, allocating nothing.
  template <class Plan>
  static Bytes measure(const Context& context, Plan&& plan) {
    Arena saved, scratch;
    MemoryPlan memory{context, saved, scratch};
    plan(memory);
    return {saved.peak(), scratch.peak()};
  }

 private:
  Arena saved_, scratch_;
};

}  // namespace tandem
