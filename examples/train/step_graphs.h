#pragma once

#include <array>

#include "core/device/context.h"

namespace tandem::train {

/// Runs the parts of a step (one for each micro-batch), on a GPU as graphs: a part is run plainly at first,
/// so that libraries have set up what they need, then captured, and from there on replayed. Parts differ by
/// whether they begin or end a step.
class StepGraphs {
 public:
  StepGraphs(Context& context, bool on) : context_(context), on_(on) {}

  /// `part` puts work on streams that the compute stream has waited for when it returns. It reads nothing of
  /// the host that changes from step to step, and batches at addresses that do not (InputFeed's).
  template <class Part>
  void run(bool first, bool last, Part&& part) {
    Role& role = roles_[2 * first + last];
    if (!on_ || role.runs++ < kPlainRuns) return part();
    if (!role.graph) role.graph = context_.capture(part);
    role.graph.launch(context_.compute());
  }

 private:
  static constexpr int kPlainRuns = 2;
  struct Role {
    int runs = 0;
    Graph graph;
  };

  Context& context_;
  bool on_;
  std::array<Role, 4> roles_;
};

}  // namespace tandem::train
