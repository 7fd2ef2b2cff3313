#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tandem {

/// A move-only callable that lives in place: queuing one allocates nothing. A closure that does not fit fails
/// to compile.
class Task {
 public:
  static constexpr std::size_t kCapacity = 120;

  Task() = default;
  // A lambda is passed where a Task is expected.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Task>)
      Task(F&& f) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using Fn = std::remove_cvref_t<F>;
    static_assert(sizeof(Fn) <= kCapacity && alignof(Fn) <= alignof(std::max_align_t), "capture less");
    static_assert(std::is_nothrow_move_constructible_v<Fn>);
    new (storage_) Fn(std::forward<F>(f));
    run_ = [](void* p) { (*static_cast<Fn*>(p))(); };
    relocate_ = [](void* from, void* to) {
      if (to) new (to) Fn(std::move(*static_cast<Fn*>(from)));
      static_cast<Fn*>(from)->~Fn();
    };
  }
  Task(Task&& other) noexcept { take(other); }
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Task() { reset(); }

  void operator()() { run_(storage_); }
  explicit operator bool() const { return run_ != nullptr; }

 private:
  void take(Task& other) {
    if (!other.run_) return;
    other.relocate_(other.storage_, storage_);
    run_ = std::exchange(other.run_, nullptr);
    relocate_ = std::exchange(other.relocate_, nullptr);
  }
  void reset() {
    if (run_) relocate_(storage_, nullptr);
    run_ = nullptr;
  }

  alignas(std::max_align_t) unsigned char storage_[kCapacity];
  void (*run_)(void*) = nullptr;
  void (*relocate_)(void*, void*) =
      nullptr;  // moves from → to and destroys `from`; only destroys where `to` is null
};

}  // namespace tandem
