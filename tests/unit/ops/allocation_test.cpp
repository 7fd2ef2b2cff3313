#include <array>
#include <memory>

#include "core/ops/activation.h"
#include "core/ops/attention.h"
#include "core/ops/convert.h"
#include "core/ops/cross_entropy.h"
#include "core/ops/embedding.h"
#include "core/ops/layer_norm.h"
#include "core/ops/linear.h"
#include "core/ops/update.h"
#include "tests/support/allocation_counter.h"
#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

TEST(Allocations, AreCounted) {
  const std::int64_t before = allocations();
  const auto memory = std::make_unique<std::array<char, 100>>();
  EXPECT_EQ(allocations(), before + 1) << memory.get();
}

/// Every operation once, at sizes that need all blocks of the matrix product.
class AllOperations {
 public:
  explicit AllOperations(int threads) : context_(Context::cpu(threads)) {
    for (std::int64_t i = 0; i < kRows; ++i)
      ids_[i] = targets_[i] = static_cast<std::int32_t>(i % (kWidth - 3));
  }

  void run() {
    ops::embedding_forward(context_, ids_, square_, square_, x_);
    ops::layer_norm_forward(context_, x_, vector_, vector_, y_, row_, row_);
    ops::linear_gelu_forward(context_, x_, wide_, Tensor(), packed_, hidden_);
    ops::linear_gelu_backward_input(context_, y_, narrow_, packed_, hidden_);
    ops::linear_forward(context_, hidden_, narrow_, vector_, x_, y_);
    ops::linear_forward(context_, x_, wide_, Tensor(), Tensor(), packed_);
    ops::attention_forward(context_, packed_, 2, y_, lse_, scratch_);
    ops::activation_forward(context_, ops::Activation::gelu, y_, x_);
    const Tensor logits = x_.tensor.reshape({kRows, kWidth});
    ops::cross_entropy_forward(context_, logits, kWidth, targets_, loss_, correct_);
    ops::cross_entropy_forward_backward(context_, logits, kWidth - 3, targets_, loss_, loss_, correct_);
    ops::add_scaled(context_, loss_, loss_, loss_, Write::add);
    ops::activation_backward(context_, ops::Activation::gelu, y_, x_, x_);
    ops::attention_backward(context_, packed_, 2, y_, lse_, x_, packed_, scratch_);
    ops::linear_backward_input(context_, packed_, wide_, x_);
    ops::linear_backward_weight(context_, packed_, x_, wide_, Write::add);
    ops::linear_backward_bias(context_, x_, vector_, Write::add);
    ops::layer_norm_backward(context_, x_, y_, vector_, row_, row_, {x_}, {vector_, Write::add},
                             {vector_, Write::add});
    ops::embedding_backward_table(context_, ids_, x_, square_, Write::assign);
    ops::embedding_backward_positions(context_, x_, square_, Write::add);
    ops::gradient_norm(context_, table_, square_, sums_, loss_);
    ops::clip_scale(context_, loss_, 1.0, scalars_);
    const ops::ChunkRange chunks{table_, 0, std::ssize(table_.chunks())};
    ops::sgd_update(context_, {0.9, true}, scalars_, chunks, square_, square_, square_, momentum_);
    ops::adamw_update(context_, {0.9, 0.95, 1e-8}, scalars_, chunks, square_, square_, square_, momentum_,
                      momentum_);
    ops::convert(context_, square_, momentum_);
  }

 private:
  static constexpr std::int64_t kBatch = 2, kSequence = 300, kRows = kBatch * kSequence, kWidth = 400;

  Context context_;
  Owned<std::int32_t> ids_{{kBatch, kSequence}}, targets_{{kRows}};
  Owned<float> x_{{kBatch, kSequence, kWidth}}, y_{{kBatch, kSequence, kWidth}},
      packed_{{kBatch, kSequence, 3 * kWidth}}, hidden_{{kBatch, kSequence, 3 * kWidth}};
  Owned<float> lse_{{kBatch, 2, kSequence}}, row_{{kRows}}, vector_{{kWidth}};
  Owned<float> square_{{kWidth, kWidth}}, momentum_{{kWidth, kWidth}}, wide_{{3 * kWidth, kWidth}},
      narrow_{{kWidth, 3 * kWidth}};
  Owned<std::uint8_t> scratch_{{ops::attention_scratch(context_, packed_.tensor.spec(), 2)}};
  Owned<double> loss_{{1}}, scalars_{{ops::kScalars}, 0.5};
  Owned<std::int64_t> correct_{{1}};
  ops::SegmentTable table_{context_, std::array{ops::Segment{0, kWidth* kWidth, 1, 0}}};
  Owned<double> sums_{{std::ssize(table_.chunks())}};
};

class Operations : public testing::TestWithParam<int> {};

TEST_P(Operations, AllocateNothingAfterTheFirstStep) {
  AllOperations operations(GetParam());
  operations.run();  // each thread's blocks of the matrix product, and the threads themselves
  const std::int64_t before = allocations();
  for (int i = 0; i < 3; ++i) operations.run();
  EXPECT_EQ(allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(Threads, Operations, testing::Values(1, 2));

}  // namespace
}  // namespace tandem
