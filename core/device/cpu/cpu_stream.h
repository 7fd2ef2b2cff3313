#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/device/cpu/cpu_event.h"
#include "core/device/stream.h"

namespace tandem::cpu {

/// Does everything at once, on the calling thread: the CPU's compute and copy streams.
class InlineStream final : public StreamImpl {
 public:
  void record(EventImpl& event) override;
  void wait(const EventImpl& event) override;
  void mark(TimeMarkImpl& mark) override;
  void enqueue(Task task) override { task(); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override {}
};

/// One worker thread with a queue: the CPU's comm stream. After a task has thrown, later tasks are skipped;
/// every event and synchronize() from then on rethrows the first exception. The destructor lets the queue run
/// dry.
class WorkerStream final : public StreamImpl {
 public:
  explicit WorkerStream(std::string name);
  ~WorkerStream() override;

  void record(EventImpl& event) override;
  void wait(const EventImpl& event) override;
  void mark(TimeMarkImpl& mark) override;
  void enqueue(Task task) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override;

 private:
  struct Item {
    Task task;
    bool always = false;  // runs even after an error: what signals completion
  };

  void push(Item item);
  Item pop();
  void run();

  std::mutex mutex_;
  std::condition_variable available_;
  // Room for a step of some hundred buckets, however late the worker is; doubles when full. So a step in
  // steady state allocates nothing.
  std::vector<Item> ring_;
  std::size_t head_ = 0, size_ = 0;
  bool closing_ = false;
  std::exception_ptr error_;  // touched by the worker thread alone
  CpuEvent drained_;          // what synchronize() records and waits for
  std::string name_;
  std::thread worker_;
};

}  // namespace tandem::cpu
