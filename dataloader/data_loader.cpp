#include "dataloader/data_loader.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/arena.h"

namespace tandem {

namespace {

// One place of the ring. Micro-batch i always goes to slot i mod (number of slots).
struct Slot {
  Batch batch;
  std::int64_t filled = -1;  // the micro-batch that lies here, complete
  std::exception_ptr error;  // what building it threw
};

void build(const BatchBuilder& builder, std::int64_t micro_batch, Slot& slot) noexcept {
  slot.error = nullptr;
  try {
    builder.build(micro_batch, slot.batch);
  } catch (...) {
    slot.error = std::current_exception();
  }
}

// Plans the slots' memory; run twice, as every arena is.
void plan(const BatchBuilder& builder, std::vector<Slot>& slots, Arena& arena) {
  for (Slot& slot : slots) {
    slot.batch.inputs = arena.allocate(builder.inputs());
    slot.batch.targets = arena.allocate(builder.targets());
  }
}

}  // namespace

struct DataLoader::Impl {
  Impl(Context& context, std::shared_ptr<const Dataset> dataset, DistributedSampler sampler,
       const LoaderOptions& options);
  ~Impl();

  const Batch& next();
  Slot& slot_of(std::int64_t micro_batch) {
    return slots[static_cast<std::size_t>(micro_batch) % slots.size()];
  }
  void release_current();
  void wait_for_current();
  void work(const std::stop_token& stop);

  BatchBuilder builder;
  Arena arena;
  std::vector<Slot> slots;

  std::mutex mutex;                   // guards what follows, and each slot's `filled`
  std::condition_variable ready;      // a slot was filled
  std::condition_variable_any space;  // a slot became free
  std::int64_t current;               // the micro-batch that the caller has, or will get next
  std::int64_t claimed;               // the micro-batch that the next free worker takes
  bool handed_out = false;            // the caller has `current`

  std::vector<std::jthread> workers;  // last: they end before what they use
};

DataLoader::Impl::Impl(Context& context, std::shared_ptr<const Dataset> dataset, DistributedSampler sampler,
                       const LoaderOptions& options)
    : builder(std::move(dataset), sampler),
      slots(options.workers > 0 ? static_cast<std::size_t>(options.prefetch) + 1 : 1),
      current(options.first_step * sampler.micro_batches),
      claimed(current) {
  Arena measure;
  plan(builder, slots, measure);
  arena = Arena(context, measure.peak(), DeviceMemory::Kind::staging);
  plan(builder, slots, arena);
  arena.seal();
  for (int i = 0; i < options.workers; ++i)
    workers.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

DataLoader::Impl::~Impl() {
  for (std::jthread& worker : workers) worker.request_stop();  // all at once, then each is joined
}

const Batch& DataLoader::Impl::next() {
  release_current();
  Slot& slot = slot_of(current);
  if (workers.empty())
    build(builder, current, slot);
  else
    wait_for_current();
  if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
  return slot.batch;
}

void DataLoader::Impl::release_current() {
  const std::lock_guard lock(mutex);
  if (handed_out) ++current;
  handed_out = true;
  space.notify_one();  // one slot became free, for one worker
}

void DataLoader::Impl::wait_for_current() {
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return slot_of(current).filled == current; });
}

void DataLoader::Impl::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  const auto free = [&] { return claimed < current + static_cast<std::int64_t>(slots.size()); };
  while (space.wait(lock, stop, free) && !stop.stop_requested()) {
    const std::int64_t mine = claimed++;
    Slot& slot = slot_of(mine);  // nobody else touches it until `filled` says so
    lock.unlock();
    build(builder, mine, slot);
    lock.lock();
    slot.filled = mine;
    ready.notify_one();
  }
}

DataLoader::DataLoader(Context& context, std::shared_ptr<const Dataset> dataset, DistributedSampler sampler,
                       LoaderOptions options) {
  require(options.workers >= 0 && options.first_step >= 0, "a loader of {} workers from step {}",
          options.workers, options.first_step);
  require(options.workers == 0 || options.prefetch >= 1, "workers that may hold {} batches ready",
          options.prefetch);
  if (sampler.tail == Tail::drop) check_global_batch(*dataset, sampler);
  if (dataset->size() == 0) throw DataError("{}: no samples: give other data", dataset->describe());
  impl_ = std::make_unique<Impl>(context, std::move(dataset), sampler, options);
}

DataLoader::~DataLoader() = default;

const Batch& DataLoader::next() {
  return impl_->next();
}

const DistributedSampler& DataLoader::sampler() const {
  return impl_->builder.sampler();
}

void check_global_batch(const Dataset& dataset, const DistributedSampler& sampler) {
  if (dataset.size() >= sampler.global_batch()) return;
  throw DataError(
      "{}: {} samples are fewer than one global batch of {} (batch {} x accumulate {} x ranks "
      "{}): give more data or a smaller --batch",
      dataset.describe(), dataset.size(), sampler.global_batch(), sampler.batch, sampler.micro_batches,
      sampler.ranks);
}

}  // namespace tandem
