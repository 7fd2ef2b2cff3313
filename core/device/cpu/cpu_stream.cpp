#include "core/device/cpu/cpu_stream.h"

#include <pthread.h>
#include <utility>

#include "core/device/cpu/cpu_event.h"

namespace tandem::cpu {

void InlineStream::record(EventImpl& event) {
  auto& e = static_cast<CpuEvent&>(event);
  e.complete(e.request(), nullptr);
}

void InlineStream::wait(const EventImpl& event) {
  event.synchronize();
}

void InlineStream::mark(TimeMarkImpl& mark) {
  static_cast<CpuTimeMark&>(mark).set_now();
}

WorkerStream::WorkerStream(std::string name)
    : ring_(64), name_(std::move(name)), worker_([this] { run(); }) {}

WorkerStream::~WorkerStream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    available_.notify_one();
  }
  worker_.join();
}

void WorkerStream::record(EventImpl& event) {
  auto* e = &static_cast<CpuEvent&>(event);
  const auto number = e->request();
  push({[this, e, number] { e->complete(number, error_); }, /*always=*/true});
}

void WorkerStream::wait(const EventImpl& event) {
  const auto* e = &static_cast<const CpuEvent&>(event);
  push({[e, number = e->requested()] { e->wait_for(number); }});
}

void WorkerStream::mark(TimeMarkImpl& mark) {
  auto* m = &static_cast<CpuTimeMark&>(mark);
  m->request();
  push({[m] { m->set_now(); }, /*always=*/true});
}

void WorkerStream::enqueue(Task task) {
  push({std::move(task)});
}

void WorkerStream::synchronize() {
  CpuEvent done;
  record(done);
  done.synchronize();
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
