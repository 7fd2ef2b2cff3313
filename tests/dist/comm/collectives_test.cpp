// Every collective, on every rank of the world, against what one rank can work out alone.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/float16.h"
#include "core/base/philox.h"
#include "tests/dist/comm/ranks.h"

namespace tandem {

namespace {

using testing::on_every_rank;

// Sizes that are empty, single, not divisible by anything, just at and over a chunk (64 KiB) and over several
// pieces.
const std::vector<std::int64_t> kSizes = {0, 1, 2, 3, 1000, 16384, 16385, 200003};

/// The values that `rank` brings to a collective: any rank can compute any other's.
template <class T>
std::vector<T> values_of(int rank, std::int64_t count, std::uint64_t seed = 7) {
  Philox random(seed, static_cast<std::uint64_t>(rank));
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>((random() % 2000001 - 1e6) / 8192.0);
  return values;
}

template <class T>
T combine(ReduceOp op, T a, T b) {
  return op == ReduceOp::sum ? a + b : op == ReduceOp::min ? std::min(a, b) : std::max(a, b);
}

/// The reduction over all ranks, in double where T is floating.
template <class T>
auto reduced(ReduceOp op, int ranks, std::int64_t count) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  std::vector<Wide> result;
  for (int r = 0; r < ranks; ++r) {
    const auto values = values_of<T>(r, count);
    if (r == 0) result.assign(values.begin(), values.end());
    for (std::int64_t i = 0; r > 0 && i < count; ++i) result[i] = combine(op, result[i], Wide(values[i]));
  }
  return result;
}

template <class T>
double tolerance(ReduceOp op) {
  if (op != ReduceOp::sum || !std::is_floating_point_v<T>) return 0.0;
  return 2000.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// The number of elements that differ from the expected ones: one figure, so that a failure prints one line.
template <class T, class Wide>
std::int64_t wrong(const T* values, const Wide* expected, std::int64_t count, double tolerance) {
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < count; ++i)
    n += !(std::abs(static_cast<double>(values[i]) - static_cast<double>(expected[i])) <= tolerance);
  return n;
}

template <class T>
class Collectives : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double, std::int64_t>;
TYPED_TEST_SUITE(Collectives, ElementTypes);

TYPED_TEST(Collectives, AllReduceCombinesAllRanks) {
  using T = TypeParam;
  on_every_rank([](World& world, Context& context) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
      for (const std::int64_t n : kSizes) {
        auto values = values_of<T>(world.rank(), n);
        world.comm().all_reduce(Tensor::of(values.data(), {n}), op, context.comm());
        context.comm().synchronize();
        const auto expected = reduced<T>(op, world.size(), n);
        EXPECT_EQ(wrong(values.data(), expected.data(), n, tolerance<T>(op)), 0) << n;
      }
  });
}

TYPED_TEST(Collectives, ReduceScatterFillsTheOwnBlock) {
  using T = TypeParam;
  on_every_rank([](World& world, Context& context) {
    for (const std::int64_t block : kSizes) {
      const std::int64_t n = block * world.size();
      auto values = values_of<T>(world.rank(), n);
      world.comm().reduce_scatter(Tensor::of(values.data(), {n}), ReduceOp::sum, context.comm());
      context.comm().synchronize();
      const auto expected = reduced<T>(ReduceOp::sum, world.size(), n);
      const std::int64_t own = block * world.rank();
      EXPECT_EQ(wrong(values.data() + own, expected.data() + own, block, tolerance<T>(ReduceOp::sum)), 0)
          << block;
    }
  });
}

TYPED_TEST(Collectives, AllGatherFillsAllBlocks) {
  using T = TypeParam;
  on_every_rank([](World& world, Context& context) {
    for (const std::int64_t block : kSizes) {
      const std::int64_t n = block * world.size();
      std::vector<T> values(n);
      const auto own = values_of<T>(world.rank(), block);
      std::copy(own.begin(), own.end(), values.begin() + block * world.rank());
      world.comm().all_gather(Tensor::of(values.data(), {n}), context.comm());
      context.comm().synchronize();
      for (int r = 0; r < world.size(); ++r) {
        const auto expected = values_of<T>(r, block);
        EXPECT_EQ(wrong(values.data() + block * r, expected.data(), block, 0.0), 0) << block;
      }
    }
  });
}

TYPED_TEST(Collectives, BroadcastComesFromAnyRoot) {
  using T = TypeParam;
  on_every_rank([](World& world, Context& context) {
    for (int root = 0; root < world.size(); ++root)
      for (const std::int64_t n : kSizes) {
        auto values = values_of<T>(world.rank(), n);
        world.comm().broadcast(Tensor::of(values.data(), {n}), root, context.comm());
        context.comm().synchronize();
        const auto expected = values_of<T>(root, n);
        EXPECT_EQ(wrong(values.data(), expected.data(), n, 0.0), 0) << n << " from " << root;
      }
  });
}

TYPED_TEST(Collectives, SendAndRecvPassAlongALine) {
  using T = TypeParam;
  on_every_rank([](World& world, Context& context) {
    Stream& stream = context.comm();
    for (const std::int64_t n : kSizes) {
      auto values = values_of<T>(world.rank(), n);
      const Tensor buffer = Tensor::of(values.data(), {n});
      if (world.rank() > 0) world.comm().recv(buffer, world.rank() - 1, stream);
      if (world.rank() + 1 < world.size()) world.comm().send(buffer, world.rank() + 1, stream);
      stream.synchronize();
      const auto expected = values_of<T>(0, n);
      EXPECT_EQ(wrong(values.data(), expected.data(), n, 0.0), 0) << n;
    }
  });
}

/// True if all ranks hold the same bytes as rank 0.
bool same_everywhere(World& world, Context& context, const std::vector<float>& values) {
  auto first = values;
  world.comm().broadcast(Tensor::of(first.data(), {std::ssize(first)}), 0, context.comm());
  context.comm().synchronize();
  return std::memcmp(first.data(), values.data(), values.size() * sizeof(float)) == 0;
}

TEST(Determinism, AllRanksGetTheSameBitsInEveryRun) {
  on_every_rank([](World& world, Context& context) {
    const std::int64_t n = 700001;
    std::vector<float> first;
    for (int run = 0; run < 3; ++run) {
      auto values = values_of<float>(world.rank(), n);
      world.comm().all_reduce(Tensor::of(values.data(), {n}), ReduceOp::sum, context.comm());
      context.comm().synchronize();
      EXPECT_TRUE(same_everywhere(world, context, values));
      if (run == 0) first = values;
      EXPECT_TRUE(first == values) << "run " << run;
    }
  });
}

TEST(Ordering, CollectivesOfManySizesKeepTheirOrder) {
  on_every_rank([](World& world, Context& context) {
    std::mt19937 random(11);  // the same on all ranks
    std::vector<std::vector<float>> buffers;
    for (int k = 0; k < 40; ++k)
      buffers.emplace_back(random() % 50000, static_cast<float>((world.rank() + 1) * (k + 1)));
    Event done = context.make_event();
    for (auto& buffer : buffers)
      world.comm().all_reduce(Tensor::of(buffer.data(), {std::ssize(buffer)}), ReduceOp::sum, context.comm());
    context.comm().record(done);
    context.compute().wait(done);

    const int sum_of_ranks = world.size() * (world.size() + 1) / 2;
    for (int k = 0; k < 40; ++k)
      for (const float v : buffers[k]) ASSERT_EQ(v, static_cast<float>(sum_of_ranks * (k + 1))) << k;
  });
}

TEST(Split, GroupsByColourOrderedByKey) {
  on_every_rank([](World& world, Context& context) {
    const int parity = world.rank() % 2;
    const int members = (world.size() + 1 - parity) / 2;
    auto group = world.comm().split(parity, -world.rank(), context.comm());  // in reverse order
    ASSERT_EQ(group->size(), members);
    EXPECT_EQ(group->rank(), members - 1 - world.rank() / 2);

    std::vector<double> sum(1000, world.rank());
    group->all_reduce(Tensor::of(sum.data(), {1000}), ReduceOp::sum, context.comm());
    context.comm().synchronize();
    double expected = 0;
    for (int r = parity; r < world.size(); r += 2) expected += r;
    EXPECT_EQ(sum, std::vector<double>(1000, expected));

    auto again = group->split(0, 0, context.comm());  // a group splits like any other, more than once
    EXPECT_EQ(again->size(), members);
  });
}

TEST(Lifetime, AQueuedCollectiveOutlivesItsCommunicatorAndEvent) {
  on_every_rank([](World& world, Context& context) {
    std::vector<double> values(300000, 1.0);
    {
      auto group = world.comm().split(0, world.rank(), context.comm());
      Event done = context.make_event();
      group->all_reduce(Tensor::of(values.data(), {std::ssize(values)}), ReduceOp::sum, context.comm());
      context.comm().record(done);
    }
    context.comm().synchronize();
    EXPECT_EQ(values, std::vector<double>(300000, world.size()));
  });
}

TEST(Contract, BadArgumentsAreRefusedAtTheCall) {
  on_every_rank([](World& world, Context& context) {
    std::vector<std::int32_t> values(7);
    const Tensor odd = Tensor::of(values.data(), {7});
    Communicator& comm = world.comm();
    EXPECT_THROW(comm.all_reduce(odd, ReduceOp::sum, context.comm()), ContractError);
    EXPECT_THROW(comm.reduce_scatter(odd, ReduceOp::sum, context.comm()), ContractError);
    EXPECT_THROW(comm.broadcast(odd, world.size(), context.comm()), ContractError);
    EXPECT_THROW(comm.broadcast(odd, -1, context.comm()), ContractError);
    EXPECT_THROW(comm.send(odd, world.size(), context.comm()), ContractError);
    EXPECT_THROW(comm.recv(odd, -1, context.comm()), ContractError);
    if (world.size() > 1) {
      EXPECT_THROW(comm.all_gather(odd, context.comm()), ContractError);
    }
  });
}

TEST(Agree, EveryRankThrowsTheLowestFailingRanksError) {
  on_every_rank([](World& world, Context& context) {
    EXPECT_NO_THROW(world.agree(nullptr, context));
    const int failing = world.size() - 1;
    const DataError error("rank {}: no such file", failing);
    try {
      world.agree(world.rank() == failing ? &error : nullptr, context);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const AgreedError& e) {
      EXPECT_EQ(std::string(e.what()), error.what());
      EXPECT_EQ(e.exit_code(), 2);
      EXPECT_EQ(e.failed_rank(), failing);
      EXPECT_EQ(e.speaker(), world.rank() == failing);
    }
  });
}

template <class T>
void expect_rounded_sums(World& world, Context& context, double unit) {
  for (const std::int64_t n : kSizes) {
    std::vector<T> values;
    for (const float x : values_of<float>(world.rank(), n)) values.push_back(T(x));
    std::vector<double> sum(static_cast<std::size_t>(n)), terms(sum);
    for (int r = 0; r < world.size(); ++r) {
      const auto theirs = values_of<float>(r, n);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += static_cast<double>(static_cast<float>(T(theirs[i])));
        terms[i] += std::abs(theirs[i]);
      }
    }
    const Tensor buffer(values.data(), dtype_of<T>, {n});
    world.comm().all_reduce(buffer, ReduceOp::sum, context.comm());
    context.comm().synchronize();
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(static_cast<float>(values[i]), sum[i], world.size() * unit * terms[i]) << i << " of " << n;

    std::vector<T> first = values;
    world.comm().broadcast(Tensor(first.data(), dtype_of<T>, {n}), 0, context.comm());
    context.comm().synchronize();
    EXPECT_EQ(std::memcmp(first.data(), values.data(), values.size() * sizeof(T)), 0);
  }
}

TEST(SixteenBits, SumsAreRoundedAndTheSameOnAllRanks) {
  on_every_rank([](World& world, Context& context) {
    expect_rounded_sums<BFloat16>(world, context, 0x1p-8);
    expect_rounded_sums<Float16>(world, context, 0x1p-11);
  });
}

}  // namespace

}  // namespace tandem
