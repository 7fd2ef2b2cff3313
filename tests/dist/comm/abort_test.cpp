// Ranks as threads: whatever one rank throws, the others do not wait for it.
#include <chrono>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "core/comm/comm_scope.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

class Aborting : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_LT(std::chrono::steady_clock::now() - start_, std::chrono::seconds(5)) << "somebody waited";
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(Aborting, AnAbortEndsEveryRanksPendingCollectives) {
  run_threads(3, [](World& world) {
    Context context = Context::cpu();
    std::vector<float> values(100000);
    if (world.rank() == 1) {
      world.comm().abort(1);
    } else {
      world.comm().all_reduce(Tensor::of(values.data(), {std::ssize(values)}), ReduceOp::sum, context.comm());
    }
    EXPECT_THROW(
        {
          world.comm().all_reduce(Tensor::of(values.data(), {1}), ReduceOp::sum, context.comm());
          context.comm().synchronize();
        },
        CommError);
  });
}

TEST_F(Aborting, GroupsThatWereSplitOffEndToo) {
  run_threads(4, [](World& world) {
    Context context = Context::cpu();
    std::vector<float> values(10);
    const auto wait_for_partner = [&] {
      auto pair = world.comm().split(world.rank() / 2, 0, context.comm());
      if (world.rank() == 0) return world.comm().abort(1);
      pair->recv(Tensor::of(values.data(), {10}), 1 - pair->rank(), context.comm());
      context.comm().synchronize();
    };
    if (world.rank() == 0) return wait_for_partner();
    EXPECT_THROW(wait_for_partner(), CommError);  // or in the split, which rank 0 may leave first
  });
}

TEST_F(Aborting, TheFirstExceptionIsRethrownWithItsRank) {
  try {
    run_threads(3, [](World& world) {
      Context context = Context::cpu();
      std::vector<double> values(200000, 1.0);
      CommScope scope(world.comm(), context.comm());
      for (int step = 0; step < 5; ++step) {
        world.comm().all_reduce(Tensor::of(values.data(), {std::ssize(values)}), ReduceOp::sum,
                                context.comm());
        if (world.rank() == 2 && step == 3) throw DataError("token 300 is out of range");
        context.comm().synchronize();
      }
    });
    FAIL() << "nothing was thrown";
  } catch (const RankError& e) {
    EXPECT_EQ(e.rank(), 2);
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_STREQ(e.what(), "token 300 is out of range");
  }
}

TEST_F(Aborting, AForeignExceptionHasExitCodeOne) {
  try {
    run_threads(2, [](World& world) {
      if (world.rank() == 0) throw std::runtime_error("out of luck");
    });
    FAIL() << "nothing was thrown";
  } catch (const RankError& e) {
    EXPECT_EQ(e.rank(), 0);
    EXPECT_EQ(e.exit_code(), 1);
  }
}

TEST_F(Aborting, AnErrorInASplitGroupNamesTheRankOfTheWorld) {
  try {
    run_threads(4, [](World& world) {
      Context context = Context::cpu();
      const auto pair = world.comm().split(world.rank() / 2, 0, context.comm());
      const CommScope scope(*pair, context.comm());
      std::vector<double> values(10);
      if (world.rank() == 3) throw DataError("out of luck");
      world.comm().all_reduce(Tensor::of(values.data(), {10}), ReduceOp::sum, context.comm());
      context.comm().synchronize();
    });
    FAIL() << "nothing was thrown";
  } catch (const RankError& e) {
    EXPECT_EQ(e.rank(), 3);
    EXPECT_STREQ(e.what(), "out of luck");
  }
}

TEST_F(Aborting, AnAgreedErrorArrivesOnceAndIsToBePrinted) {
  try {
    run_threads(3, [](World& world) {
      Context context = Context::cpu();
      const UsageError error("--batch -1");
      world.agree(world.rank() == 1 ? &error : nullptr, context);
    });
    FAIL() << "nothing was thrown";
  } catch (const AgreedError& e) {
    EXPECT_EQ(e.failed_rank(), 1);
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_TRUE(e.speaker());
    EXPECT_STREQ(e.what(), "--batch -1");
  }
}

}  // namespace

}  // namespace tandem
