#include "core/device/cpu/cpu_stream.h"

#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>
#include <utility>

namespace tandem::cpu {

void InlineStream::record(EventImpl& event) {
  auto& state = *static_cast<CpuEvent&>(event).state();
  state.complete(state.request(), nullptr);
}

void InlineStream::wait(const EventImpl& event) {
  event.synchronize();
}

void InlineStream::mark(TimeMarkImpl& mark) {
  CpuTimeMark::take(*static_cast<CpuTimeMark&>(mark).reading());
}

void InlineStream::copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

WorkerStream::WorkerStream(std::string name)
    : ring_(1024), name_(std::move(name)), worker_([this] { run(); }) {}

WorkerStream::~WorkerStream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    available_.notify_one();
  }
  worker_.join();
}

void WorkerStream::record(EventImpl& event) {
  auto state = static_cast<CpuEvent&>(event).state();
  const auto number = state->request();
  push({[this, state = std::move(state), number] { state->complete(number, error_); }, /*always=*/true});
}

void WorkerStream::wait(const EventImpl& event) {
  auto state = static_cast<const CpuEvent&>(event).state();
  const auto number = state->requested();
  push({[state = std::move(state), number] { state->wait_for(number); }});
}

void WorkerStream::mark(TimeMarkImpl& mark) {
  auto reading = static_cast<CpuTimeMark&>(mark).reading();
  reading->store(0, std::memory_order_relaxed);
  push({[reading = std::move(reading)] { CpuTimeMark::take(*reading); }, /*always=*/true});
}

void WorkerStream::enqueue(Task task) {
  push({std::move(task)});
}

void WorkerStream::copy(void* to, const void* from, std::size_t bytes) {
  push({[=] { std::memcpy(to, from, bytes); }});
}

void WorkerStream::synchronize() {
  record(drained_);
  drained_.synchronize();
}

void WorkerStream::push(Item item) {
  std::lock_guard lock(mutex_);
  if (size_ == ring_.size()) {
    std::vector<Item> larger(ring_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(head_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    head_ = 0;
  }
  ring_[(head_ + size_++) % ring_.size()] = std::move(item);
  available_.notify_one();
}

WorkerStream::Item WorkerStream::pop() {
  std::unique_lock lock(mutex_);
  available_.wait(lock, [&] { return size_ > 0 || closing_; });
  if (size_ == 0) return {};
  Item item = std::move(ring_[head_]);
  head_ = (head_ + 1) % ring_.size();
  --size_;
  return item;
}

void WorkerStream::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  prctl(PR_SET_TIMERSLACK, 1);  // ns; by default the kernel adds 50 µs to the short sleeps of a polling task
  for (Item item = pop(); item.task; item = pop()) {
    if (error_ && !item.always) continue;
    try {
      item.task();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
}

}  // namespace tandem::cpu
