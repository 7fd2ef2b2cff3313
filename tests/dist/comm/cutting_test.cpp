// Messages over MPI's 2^31 − 1 are cut up. With a limit of some bytes instead, every cut is seen without 8
// GB.
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "core/base/philox.h"
#include "core/comm/mpi/mpi_communicator.h"
#include "tests/dist/comm/ranks.h"

namespace tandem {

namespace {

using testing::on_every_rank;

mpi::MpiCommunicator communicator(mpi::Limits limits) {
  return mpi::MpiCommunicator(std::make_shared<mpi::Group>(MPI_COMM_WORLD, limits));
}

std::vector<float> random_values(std::int64_t count, int rank) {
  Philox random(3, static_cast<std::uint64_t>(rank));
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random.normal());
  return values;
}

// Message limit; least and most bytes of a piece.
const std::vector<mpi::Limits> kLimits = {
    {40, 1, 1 << 20}, {4, 1, 64}, {1 << 20, 100, 100}, {1 << 20, 4096, 8192}};
const std::vector<std::int64_t> kSizes = {0, 1, 2, 9, 10, 11, 999, 5003};

TEST(Cutting, AllReduceIsTheSameHoweverItIsCut) {
  on_every_rank([](World& world, Context& context) {
    for (const std::int64_t n : kSizes) {
      std::vector<std::int64_t> whole(n, world.rank() + 1);
      for (std::int64_t i = 0; i < n; ++i) whole[i] *= i;
      auto cut = whole;
      world.comm().all_reduce(Tensor::of(whole.data(), {n}), ReduceOp::sum, context.comm());
      for (const auto& limits : kLimits) {
        auto values = cut;
        auto comm = communicator(limits);
        comm.all_reduce(Tensor::of(values.data(), {n}), ReduceOp::sum, context.comm());
        context.comm().synchronize();
        EXPECT_EQ(values, whole) << n << " elements, limit " << limits.message_bytes;
      }
    }
  });
}

TEST(Cutting, TwoRanksGetTheSameBitsHoweverItIsCut) {
  on_every_rank([](World& world, Context& context) {
    if (world.size() != 2) return;  // with more ranks the order of additions depends on the cuts
    for (const std::int64_t n : kSizes) {
      auto whole = random_values(n, world.rank());
      const auto own = whole;
      world.comm().all_reduce(Tensor::of(whole.data(), {n}), ReduceOp::sum, context.comm());
      for (const auto& limits : kLimits) {
        auto values = own;
        auto comm = communicator(limits);
        comm.all_reduce(Tensor::of(values.data(), {n}), ReduceOp::sum, context.comm());
        context.comm().synchronize();
        EXPECT_EQ(values, whole);
      }
    }
  });
}

TEST(Cutting, ReduceScatterAndAllGatherMakeAnAllReduce) {
  on_every_rank([](World& world, Context& context) {
    for (const std::int64_t block : kSizes)
      for (const auto& limits : kLimits) {
        const std::int64_t n = block * world.size();
        std::vector<std::int64_t> values(n), expected(n);
        for (std::int64_t i = 0; i < n; ++i) {
          values[i] = i * (world.rank() + 1);
          expected[i] = i * world.size() * (world.size() + 1) / 2;
        }
        auto comm = communicator(limits);
        comm.reduce_scatter(Tensor::of(values.data(), {n}), ReduceOp::sum, context.comm());
        comm.all_gather(Tensor::of(values.data(), {n}), context.comm());
        context.comm().synchronize();
        EXPECT_EQ(values, expected) << block << " elements a block, limit " << limits.message_bytes;
      }
  });
}

TEST(Cutting, BroadcastAndSendArriveWhole) {
  on_every_rank([](World& world, Context& context) {
    for (const std::int64_t n : kSizes)
      for (const auto& limits : kLimits) {
        auto values = random_values(n, world.rank());
        const Tensor buffer = Tensor::of(values.data(), {n});
        auto comm = communicator(limits);
        if (world.rank() == 0 && world.size() > 1) comm.send(buffer, world.size() - 1, context.comm());
        if (world.rank() == world.size() - 1 && world.size() > 1) comm.recv(buffer, 0, context.comm());
        comm.broadcast(buffer, world.size() - 1, context.comm());
        context.comm().synchronize();
        EXPECT_EQ(values, random_values(n, 0));
      }
  });
}

}  // namespace

}  // namespace tandem
