#include <string>

#include <gtest/gtest.h>

#include "tests/support/toy_rank.h"
#include "tests/unit/ddp/fake_communicator.h"

namespace tandem {
namespace {

using testing::FakeCommunicator;
using testing::ToyModule;
using testing::ToyRank;

// p1 is used twice, p2 is empty.
const std::vector<std::int64_t> kSizes = {5000, 300, 0, 7000, 33, 12000};
const std::vector<int> kScript = {1, 5, 4, 3, 2, 1, 0};

// Each parameter a bucket of its own.
const BucketOptions kTinyCaps{.cap_mb = 0.0001, .first_cap_mb = 0.0001, .order = BucketOrder::ready};

/// The offsets in bytes of the reduced buffers.
std::vector<std::ptrdiff_t> offsets(const FakeCommunicator& communicator, const ParameterStore& store) {
  std::vector<std::ptrdiff_t> all;
  for (const void* buffer : communicator.buffers)
    all.push_back(static_cast<const std::byte*>(buffer) -
                  static_cast<const std::byte*>(store.grads().data()));
  return all;
}

TEST(Reducer, LaunchesFullBucketsDuringBackward) {
  auto context = Context::cpu();
  FakeCommunicator communicator;
  ToyRank rank(context, communicator, {64, 64, 64}, {2, 1, 0}, kTinyCaps, {.overlap = true});
  rank.store.start_accumulation();
  rank.reducer.start_backward(true);
  for (int i : {2, 1, 0}) {
    Parameter& p = rank.module.parameter(i);
    p.next_grad_write();
    rank.reducer.ready(p);
    EXPECT_EQ(communicator.buffers.size(), 3u - i);
    EXPECT_EQ(communicator.buffers.back(), p.grad.data());
  }
}

TEST(Reducer, LaunchesInIndexOrderWhateverTheOrderOfGradients) {
  for (bool overlap : {true, false})
    for (bool skip_last : {false, true}) {  // a use that never comes: finish() launches that bucket
      auto context = Context::cpu();
      FakeCommunicator communicator;
      ToyRank rank(context, communicator, {64, 64, 64, 64}, {3, 2, 1, 0, 1}, kTinyCaps, {.overlap = overlap});
      rank.store.start_accumulation();
      rank.reducer.start_backward(true);
      for (int i : {0, 1, 2, 3, 1}) {  // planned: 3, 2, 0, 1
        if (skip_last && communicator.buffers.size() == 3) continue;
        rank.module.parameter(i).next_grad_write();
        rank.reducer.ready(rank.module.parameter(i));
        EXPECT_TRUE(i == 3 || i == 1 || communicator.buffers.empty());
      }
      EXPECT_EQ(communicator.buffers.size(), !overlap ? 0u : skip_last ? 3u : 4u);
      rank.reducer.finish();
      rank.wait_all();
      EXPECT_EQ(offsets(communicator, rank.store), (std::vector<std::ptrdiff_t>{0, 256, 512, 768}));
    }
}

TEST(Reducer, CommunicatesOnlyWhenAsked) {
  auto context = Context::cpu();
  FakeCommunicator communicator;
  ToyRank rank(context, communicator, kSizes, kScript, kTinyCaps, {});
  const std::size_t collectives =
      5;  // six parameters, each with a bucket; the empty one's needs no collective
  EXPECT_EQ(rank.reducer.buckets().size(), 6u);
  rank.step();
  EXPECT_EQ(communicator.buffers.size(), collectives);
  rank.step(/*micro_batches=*/4);
  EXPECT_EQ(communicator.buffers.size(), 2 * collectives);
}

TEST(Reducer, WithoutViewsTheCollectiveWorksOnMemoryOfItsOwn) {
  auto context = Context::cpu();
  FakeCommunicator communicator;
  ToyRank rank(context, communicator, kSizes, kScript, {}, {.gradient_as_bucket_view = false});
  for (const Bucket& bucket : rank.reducer.buckets()) {
    EXPECT_NE(bucket.reduced.flat.data(), bucket.grads.data());
    EXPECT_EQ(bucket.reduced.flat.numel(), bucket.spec->numel);
  }
  rank.step();
  EXPECT_EQ(communicator.buffers.front(), rank.reducer.buckets()[0].reduced.flat.data());
}

TEST(Reducer, FrozenParametersArePassedOver) {
  auto context = Context::cpu();
  FakeCommunicator communicator;
  ToyModule module({10, 20}, {1, 0});
  module.parameter(1).frozen = true;
  const auto all = module.parameters();
  const auto plan = BucketPlan::make(all, {&module.parameter(0)}, {}, 1);
  const auto store = ParameterStore::allocate(context, plan.layout, all);
  Reducer reducer(context, communicator, plan, store, {});
  reducer.start_backward(true);
  module.backward(context, {}, reducer);
  EXPECT_NO_THROW(reducer.finish());
}

/// Writes down every call: "ready 0 compute", …
class Diary final : public CommObserver {
 public:
  explicit Diary(Context& context) : context_(context) {}
  void bucket_ready(int bucket, Stream& stream) override { note("ready", bucket, stream); }
  void bucket_start(int bucket, Stream& stream) override { note("start", bucket, stream); }
  void bucket_end(int bucket, Stream& stream) override { note("end", bucket, stream); }
  void wait_start(int bucket, Stream& stream) override { note("wait", bucket, stream); }
  void wait_end(int bucket, Stream& stream) override { note("go on", bucket, stream); }

  std::string text;

 private:
  void note(const char* what, int bucket, const Stream& stream) {
    const char* name = &stream == &context_.comm()      ? "comm"
                       : &stream == &context_.compute() ? "compute"
                                                        : "?";
    text += fmt::format("{} {} {}\n", what, bucket, name);
  }
  Context& context_;
};

TEST(Reducer, TellsTheObserverEachBucketsLife) {
  auto context = Context::cpu();
  const auto self = make_self_communicator();
  Diary diary(context);
  ToyRank rank(context, *self, {64, 64}, {1, 0}, kTinyCaps, {.overlap = true}, &diary);
  rank.step();
  EXPECT_EQ(diary.text,
            "ready 0 compute\nstart 0 comm\nend 0 comm\nready 1 compute\nstart 1 comm\nend 1 comm\n"
            "wait 0 compute\ngo on 0 compute\nwait 1 compute\ngo on 1 compute\n");
}

TEST(Reducer, WithoutOverlapEverythingStartsAfterBackward) {
  auto context = Context::cpu();
  const auto self = make_self_communicator();
  Diary diary(context);
  ToyRank rank(context, *self, {64, 64}, {1, 0}, kTinyCaps, {.overlap = false}, &diary);
  rank.store.start_accumulation();
  rank.backward(true);
  EXPECT_EQ(diary.text, "ready 0 compute\nready 1 compute\n");
  rank.reducer.finish();
  EXPECT_EQ(diary.text,
            "ready 0 compute\nready 1 compute\nstart 0 comm\nend 0 comm\nstart 1 comm\nend 1 comm\n");
}

TEST(Reducer, WithoutCommunicationTheObserverHearsOfReadyAlone) {
  auto context = Context::cpu();
  const auto self = make_self_communicator();
  Diary diary(context);
  ToyRank rank(context, *self, {64}, {0}, {}, {.communicate = false}, &diary);
  rank.step();
  EXPECT_EQ(diary.text, "ready 0 compute\n");
}

}  // namespace
}  // namespace tandem
