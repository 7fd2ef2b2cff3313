#include "tests/dist/comm/ranks.h"

namespace tandem::testing {

void on_every_rank(const std::function<void(World&, Context&)>& body) {
  for (const int ranks : {1, 2, 3, 4})
    run_threads(ranks, [&](World& world) {
      Context context = Context::cpu();
      body(world, context);
    });
}

}  // namespace tandem::testing
