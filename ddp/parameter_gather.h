#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/comm/comm_scope.h"
#include "core/comm/communicator.h"
#include "core/nn/parameter_store.h"
#include "ddp/bucket_plan.h"

namespace tandem {

/// The second half of a ZeRO-1 step (Rajbhandari et al. 2020). The first was: gradients reduce-scattered (a
/// hook with SumOn::own_share), and each rank's share of every bucket updated by an optimizer that owns
/// BucketPlan::shares(). Now every rank has new values for its share alone; the others' are gathered bucket
/// by bucket on the comm stream, those that forward reads first at first, while forward of the next step is
/// under way: each layer waits for its own parameters (Parameter::read()).
///
/// The observer hears of bucket i's gather as of bucket `buckets + i`: ready when its share has been updated,
/// and waits in the next step's forward. Context, communicator, plan, store and observer must outlive the
/// gather, which waits at its end until the comm stream is done.
class ParameterGather final : public ValueGate {
 public:
  /// Without `overlap` start() waits for all values.
  ParameterGather(Context& context, Communicator& communicator, const BucketPlan& plan,
                  const ParameterStore& store, bool overlap, CommObserver* observer = nullptr);
  ParameterGather(const ParameterGather&) = delete;
  ParameterGather& operator=(const ParameterGather&) = delete;
  ~ParameterGather() override;

  /// After the step's update has been put on the compute stream. Throws ContractError naming a parameter that
  /// the step's forward used without read(): it may have computed with old values.
  void start();

  void await(const Parameter& parameter) override;
  /// Makes the compute stream wait for all values: before anything but forward reads them.
  void wait_all();
  /// Brings every rank all f32 masters, where the values are of a shorter type: during training they are
  /// new in a rank's own shares alone. Collective; blocks the host.
  void gather_masters();

 private:
  struct Piece {
    int id = 0;              // to the observer
    Tensor values, masters;  // the bucket's
    Event gathered;
    bool in_flight = false;
  };
  struct Place {
    std::size_t piece;
    bool read = false;  // in this step
  };

  void require_all_read();
  void wait(Piece& piece);

  Context* context_;
  Communicator* communicator_;
  CommObserver* observer_;
  bool overlap_;
  std::vector<Piece> pieces_;  // in the order in which forward needs them
  std::vector<Parameter*> parameters_;
  std::unordered_map<const Parameter*, Place> place_of_;
  Event updated_;
  CommScope scope_;  // last: the comm stream lets go of the values before they go
};

}  // namespace tandem
