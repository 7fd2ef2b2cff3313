#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/comm/signals.h"
#include "core/comm/world.h"
#include "core/telemetry/clocks.h"
#include "core/telemetry/console.h"
#include "core/telemetry/device_sampler.h"
#include "core/telemetry/run_facts.h"
#include "core/telemetry/run_log.h"
#include "core/telemetry/slow_link.h"
#include "core/telemetry/statistics.h"
#include "core/telemetry/step_history.h"
#include "core/telemetry/step_timer.h"
#include "examples/train/run_observer.h"

namespace tandem::train {

/// The folder of this run's files: rank 0 makes it, all ranks learn its path. Collective. Throws AgreedError.
std::filesystem::path agree_on_folder(Context& context, World& world, const Setup& setup);

/// What a run tells of itself: times every step, writes the log files, shows progress and sums up. Also when
/// the run is ended by a signal: the logs are then complete up to the last finished step. Made by all ranks
/// together: they compare their clocks.
class Recorder final : public RunObserver {
 public:
  Recorder(Context& context, World& world, const Setup& setup, const RunFacts& facts, SignalGuard& signals,
           std::filesystem::path folder);

  StepTimer& timer() override { return timer_; }
  CommObserver& observer() override { return slow_link_ ? static_cast<CommObserver&>(*slow_link_) : timer_; }
  StepFacts facts_of_step(double lr) const override;
  void entered(std::int64_t step) override {
    if (step == 0) first_step_us_ = clock_us();
    step_.store(step, std::memory_order_relaxed);
  }
  std::int64_t step() const override { return step_.load(std::memory_order_relaxed); }

  void event(const std::string& kind, const std::string& text = {}) { log_.append(timer_.event(kind, text)); }
  void note(const std::string& kind, const std::string& text) override;
  void skipped(std::int64_t step, double loss_scale) override;
  void evaluated(const Evaluation& evaluation, bool classes) override;

  /// After the last step: writes summary.json and prints the report. Collective.
  void finish(std::uint64_t parameters_hash);

 private:
  void record(const StepRecord& record);
  std::string last_words();
  void write_clocks();

  Context& context_;
  World& world_;
  const Setup& setup_;
  const RunFacts& facts_;
  const std::filesystem::path folder_;
  const std::optional<Window> window_;
  const Environment environment_;
  std::atomic<std::int64_t> step_{0};
  double first_step_us_ = 0;
  std::vector<ClockReading> clocks_at_start_;
  ConsoleStyle style_;
  RunLog log_;
  Console console_;
  StepHistory history_;
  std::optional<StepRecord> explained_;
  StepTimer timer_;
  DeviceSampler sampler_;
  std::optional<SlowLink> slow_link_;
  SignalGuard::Registration registration_;
};

}  // namespace tandem::train
