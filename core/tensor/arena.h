#pragma once

#include <cstdint>
#include <utility>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// One allocation, handed out as aligned views while planning, then sealed: a request after that throws, so
/// no step allocates.
///
/// Planning runs twice. The first pass, over a measuring arena, only counts (its views have shapes but no
/// memory); the second, over an arena of that size, hands out memory. So `--dry-run` knows what a run needs
/// without allocating it:
///
///     Arena measure;                    model.plan(measure, …);
///     Arena arena(context, measure.peak());  model.plan(arena, …);  arena.seal();
///
/// Memory is zero at first. Views stay valid as long as the arena.
class Arena {
 public:
  static constexpr std::int64_t kAlignment =
      256;  // bytes: enough for any vector access, and a multiple of a cache line

  /// A measuring arena.
  Arena() = default;
  /// Allocates `bytes` on the context's device, or on the host for staging. Throws DeviceError if there is
  /// not that much.
  Arena(const Context& context, std::int64_t bytes, DeviceMemory::Kind kind = DeviceMemory::Kind::device);
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  Tensor allocate(DType dtype, Shape shape);
  Tensor allocate(const TensorSpec& spec) { return allocate(spec.dtype, spec.shape); }

  /// While it lives, requests come from a temporary region; at its end the region is free to be used again by
  /// the next scope. Scopes nest.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(&arena), top_(arena.top_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { arena_->top_ = top_; }

   private:
    Arena* arena_;
    std::int64_t top_;
  };
  [[nodiscard]] Scope scope() { return Scope(*this); }

  bool measuring() const { return memory_.data() == nullptr; }
  void seal() { sealed_ = true; }
  /// The most bytes that were ever handed out at one time.
  std::int64_t peak() const { return peak_; }

 private:
  void swap(Arena& other) noexcept;

  DeviceMemory memory_;
  std::int64_t top_ = 0, peak_ = 0;
  bool sealed_ = false;
};

/// Where a module plans its memory.
struct MemoryPlan {
  const Context& context;  ///< the device it is planned for: workspaces depend on it
  Arena& saved;            ///< lives from forward to backward: activations and outputs
  Arena& scratch;  ///< temporaries of one module's forward or backward; modules open a scope, so all of them
                   ///< share it
};

}  // namespace tandem
