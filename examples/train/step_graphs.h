#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/device/context.h"

namespace tandem::train {

/// A micro-batch's place in its step.
struct MicroBatch {
  std::int64_t index, count;
  bool first() const { return index == 0; }
  bool last() const { return index + 1 == count; }
};

/// Runs the parts of a step (one for each micro-batch), on a GPU as graphs: a part is run plainly at first,
/// so that libraries have set up what they need, then captured, and from there on replayed. Parts differ by
/// whether they begin or end a step.
///
/// Of a step whose parts hold time marks (`measured`) each part has a graph of its own: a mark that is
/// replayed twice in one step would lose its first reading.
class StepGraphs {
 public:
  /// The first step that may be measured: all kinds of parts have run plainly before.
  static constexpr std::int64_t kFirstMeasured = 2;

  StepGraphs(Context& context, bool on) : context_(context), on_(on) {}

  /// `part` puts work on streams that the compute stream has waited for when it returns. It reads nothing of
  /// the host that changes from step to step, and batches at addresses that do not (InputFeed's).
  template <class Part>
  void run(const MicroBatch& micro, bool measured, Part&& part) {
    Role& role = roles_[2 * micro.first() + micro.last()];
    if (!on_ || role.plain_runs < kFirstMeasured) {
      ++role.plain_runs;
      return part();
    }
    if (measured) measured_.resize(static_cast<std::size_t>(micro.count));
    Graph& graph = measured ? measured_[static_cast<std::size_t>(micro.index)] : role.graph;
    if (!graph) graph = context_.capture(part);
    graph.launch(context_.compute());
  }

 private:
  struct Role {
    std::int64_t plain_runs = 0;
    Graph graph;
  };

  Context& context_;
  bool on_;
  std::array<Role, 4> roles_;
  std::vector<Graph> measured_;  // by micro-batch
};

}  // namespace tandem::train
