#include <iostream>
#include <memory>

#include <gtest/gtest.h>

#include "tests/dist/comm/ranks.h"

namespace tandem::testing {

namespace {

struct Rank {
  Context context = Context::cpu();
  std::unique_ptr<World> world = World::join(context);
};

Rank* this_rank = nullptr;

/// What ranks other than 0 print: their failures.
class FailurePrinter final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed())
      std::cerr << "rank " << this_rank->world->rank() << ": " << result.file_name() << ":"
                << result.line_number() << ": " << result.message() << std::endl;
  }
};

/// Runs all tests on all ranks; a test that throws on one rank aborts the others, which may wait for it.
int run_all() {
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (this_rank->world->rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  return RUN_ALL_TESTS();
}

}  // namespace

void on_every_rank(const std::function<void(World&, Context&)>& body) {
  try {
    body(*this_rank->world, this_rank->context);
  } catch (const std::exception& e) {
    std::cerr << "rank " << this_rank->world->rank() << ": " << e.what() << std::endl;
    this_rank->world->comm().abort(1);
  }
}

}  // namespace tandem::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  tandem::testing::Rank rank;
  tandem::testing::this_rank = &rank;
  return tandem::testing::run_all();
}
