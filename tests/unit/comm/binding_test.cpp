#include "core/comm/binding.h"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

using Cores = std::vector<int>;

TEST(CoreList, WritesRanges) {
  EXPECT_EQ(core_list({}), "");
  EXPECT_EQ(core_list({3}), "3");
  EXPECT_EQ(core_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(ShareOf, IsEvenContiguousAndComplete) {
  const Cores cores = {0, 1, 2, 3, 8, 9, 10};
  for (int ranks = 1; ranks <= 7; ++ranks) {
    Cores all;
    for (int rank = 0; rank < ranks; ++rank) {
      const Cores share = share_of(cores, rank, ranks);
      EXPECT_GE(share.size(), cores.size() / ranks);
      EXPECT_LE(share.size(), cores.size() / ranks + 1);
      all.insert(all.end(), share.begin(), share.end());
    }
    EXPECT_EQ(all, cores) << ranks << " ranks";
  }
}

TEST(ShareOf, TakesTurnsWhereThereAreMoreRanksThanCores) {
  EXPECT_EQ(share_of({4, 6}, 0, 5), Cores{4});
  EXPECT_EQ(share_of({4, 6}, 3, 5), Cores{6});
  EXPECT_EQ(share_of({4, 6}, 4, 5), Cores{4});
}

TEST(BindThread, RestrictsThisThreadAndThoseItStarts) {
  const Cores before = current_cores();
  ASSERT_FALSE(before.empty());
  Cores inside, child;
  std::thread([&] {
    bind_thread({before.back()});
    inside = current_cores();
    std::thread([&] { child = current_cores(); }).join();
  }).join();
  EXPECT_EQ(inside, Cores{before.back()});
  EXPECT_EQ(child, inside);
  EXPECT_EQ(current_cores(), before);
}

TEST(BindThread, RefusesCoresThatDoNotExist) {
  EXPECT_THROW(bind_thread({8000}), DeviceError);
}

TEST(BindProcess, MovesThreadsThatRunAlready) {
  const Cores before = current_cores();
  std::atomic<bool> moved = false;
  Cores seen;
  std::thread worker([&] {
    while (!moved) std::this_thread::yield();
    seen = current_cores();
  });
  bind_process({before.front()});
  moved = true;
  worker.join();
  bind_process(before);
  EXPECT_EQ(seen, Cores{before.front()});
  EXPECT_EQ(current_cores(), before);
}

TEST(BindingNote, IsSilentWhereAllIsWell) {
  EXPECT_EQ(binding_note({0, 1}, {0, 1}, 1, 1), "");
  EXPECT_EQ(binding_note({0, 1}, {0, 1}, 2, 1), "");
}

TEST(BindingNote, SaysWhatWasChangedAndWhatIsCrowded) {
  EXPECT_EQ(binding_note({0}, {0, 1}, 2, 1), "bound to cores 0-1 (was 0)");
  EXPECT_EQ(binding_note({1}, {1}, 2, 1), "2 threads (1 compute, 1 communication) share 1 core");
  EXPECT_EQ(binding_note({0, 1}, {1}, 2, 1),
            "bound to core 1 (was 0-1); 2 threads (1 compute, 1 communication) share 1 core");
  EXPECT_EQ(binding_note({0, 1}, {0, 1}, 1, 4), "4 threads (4 compute) share 2 cores");
}

TEST(RunThreads, SharesTheCoresAmongTheRanks) {
  const Cores allowed = current_cores();
  run_threads(2, [&](World& world) {
    EXPECT_EQ(current_cores(), share_of(allowed, world.rank(), 2));
    EXPECT_EQ(world.binding().cores, current_cores());
    EXPECT_EQ(world.binding().allowed, allowed);
  });
  run_threads(2, [&](World&) { EXPECT_EQ(current_cores(), allowed); }, {.bind = false});
  EXPECT_EQ(current_cores(), allowed);
}

}  // namespace

}  // namespace tandem
