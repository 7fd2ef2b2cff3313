#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/device/context.h"
#include "core/telemetry/step_record.h"

namespace tandem {

enum class Probe { off, step, bucket };  ///< --probe: nothing but the step's ends; phases too; buckets too

/// The parts of a step. Together with what lies between them (host) they tile it.
enum class Phase { data, forward, backward, optimizer };

/// Times a step and its buckets by marks on the streams, never synchronising; a step's record is complete
/// once its marks have been reached, which is asked for at the end of later steps. Allocates nothing after
/// the second step.
class StepTimer final : public CommObserver {
 public:
  /// `bucket_bytes`: one entry per bucket. `on_record` gets every finished step, in order, on the calling
  /// thread.
  StepTimer(Context& context, Probe probe, std::vector<std::int64_t> bucket_bytes,
            std::function<void(const StepRecord&)> on_record);

  /// Step k starts where step k − 1 ended, unless event() came between.
  void start_step(std::int64_t step);
  /// RAII: from here to the end of the returned object's life the compute stream is in `phase`.
  class [[nodiscard]] PhaseScope;
  PhaseScope measure(Phase phase);
  void end_step(std::int64_t samples, std::int64_t tokens);
  /// Something that is not part of a step (evaluation, a checkpoint) has just ended: the next step starts
  /// now, not at the last one's end.
  void event();

  /// Hands over every record whose marks have been reached; `all` waits for the rest (at the end of a run).
  void collect(bool all = false);

  void bucket_ready(int bucket, Stream& compute) override;
  void bucket_start(int bucket, Stream& comm) override;
  void bucket_end(int bucket, Stream& comm) override;
  void wait_start(int bucket, Stream& compute) override;
  void wait_end(int bucket, Stream& compute) override;
};

}  // namespace tandem
