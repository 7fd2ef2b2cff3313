#include "core/ops/linear.h"

#include "core/ops/activation.h"
#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

struct Sizes {
  std::int64_t rows, in, out;
};

/// Small odd ones, and ones beyond a block of the product in every direction.
const std::vector<Sizes> kSizes = {{1, 1, 1},      {3, 17, 10},    {17, 3, 127},  {127, 64, 33},
                                   {14, 256, 32},  {60, 257, 96},  {400, 40, 31}, {33, 520, 15},
                                   {15, 30, 1100}, {2, 1030, 1025}};

template <class T>
class LinearTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LinearTest, Types);

/// What an output holds before the call, and what the reference adds to.
template <class T>
Owned<T> before(Random& random, Shape shape, Write write) {
  return write == Write::add ? random.normal<T>(shape) : poisoned<T>(shape);
}
template <class T>
Reference base(const Owned<T>& output, Write write) {
  return write == Write::add ? Reference(output.values.begin(), output.values.end())
                             : Reference(output.values.size(), 0.0);
}

enum class Addend { none, separate, in_place };

TYPED_TEST(LinearTest, ForwardMatchesReference) {
  using T = TypeParam;
  Random& random = this->random_;
  for (const auto& [rows, in, out] : kSizes) {
    const auto x = random.normal<T>({rows, in}), w = random.normal<T>({out, in});
    const auto bias = random.normal<T>({out}), addend = random.normal<T>({rows, out});
    Reference product;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
        product.push_back(sum);
      }
    for (const Addend kind : {Addend::none, Addend::separate, Addend::in_place})
      for (const bool with_bias : {false, true})
        for (const int threads : {1, 2}) {
          Context context = Context::cpu(threads);
          const Owned<T> y = kind == Addend::in_place ? addend : poisoned<T>({rows, out});
          Tensor added;
          if (kind == Addend::separate) added = addend;
          if (kind == Addend::in_place) added = y;
          Reference expected = product;
          for (std::int64_t i = 0; i < y.numel(); ++i)
            expected[i] += (with_bias ? bias[i % out] : 0) + (added ? addend[i] : 0);
          const auto addend_before = addend.values;
          ops::linear_forward(context, x, w, with_bias ? bias.tensor : Tensor(), added, y);
          expect_close(y, expected, random);
          EXPECT_EQ(addend.values, addend_before);
        }
  }
}

/// The pair that each of the two stands for is tested on its own, above and in activation_test.cpp.
TYPED_TEST(LinearTest, FusedWithGeluEqualsTheTwoOneAfterTheOther) {
  using T = TypeParam;
  Random& random = this->random_;
  const auto reference = [](const Owned<T>& t) { return Reference(t.values.begin(), t.values.end()); };
  for (const auto& [rows, in, out] : kSizes) {
    const auto x = random.normal<T>({rows, in}), w = random.normal<T>({out, in});
    const auto bias = random.normal<T>({out}), dy = random.normal<T>({rows, out});
    for (const int threads : {1, 2}) {
      Context context = Context::cpu(threads);
      const auto pre = poisoned<T>({rows, out}), y = poisoned<T>({rows, out});
      const auto fused_pre = poisoned<T>({rows, out}), fused_y = poisoned<T>({rows, out});
      for (const Tensor& maybe_bias : {Tensor(), bias.tensor}) {
        ops::linear_forward(context, x, w, maybe_bias, Tensor(), pre);
        ops::activation_forward(context, ops::Activation::gelu, pre, y);
        ops::linear_gelu_forward(context, x, w, maybe_bias, fused_pre, fused_y);
        expect_close(fused_pre, reference(pre), random);
        expect_close(fused_y, reference(y), random);
      }
      const auto before = x.values;  // x is what the GELU before the layer was given
      const auto dx = poisoned<T>({rows, in}), fused_dx = poisoned<T>({rows, in});
      ops::linear_backward_input(context, dy, w, dx);
      ops::activation_backward(context, ops::Activation::gelu, x, dx, dx);
      ops::linear_gelu_backward_input(context, dy, w, x, fused_dx);
      expect_close(fused_dx, reference(dx), random);
      EXPECT_EQ(x.values, before);
    }
  }
}

TYPED_TEST(LinearTest, BackwardInputMatchesReference) {
  using T = TypeParam;
  for (const auto& [rows, in, out] : kSizes)
    for (const Write write : {Write::assign, Write::add})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const auto dy = this->random_.template normal<T>({rows, out}),
                   w = this->random_.template normal<T>({out, in});
        const auto dx = before<T>(this->random_, {rows, in}, write);
        Reference expected = base(dx, write);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t o = 0; o < out; ++o)
            for (std::int64_t i = 0; i < in; ++i) expected[r * in + i] += dy[r * out + o] * w[o * in + i];
        ops::linear_backward_input(context, dy, w, dx, write);
        expect_close(dx, expected, this->random_);
      }
}

TYPED_TEST(LinearTest, BackwardParametersMatchReference) {
  using T = TypeParam;
  for (const auto& [rows, in, out] : kSizes)
    for (const Write write : {Write::assign, Write::add})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const auto dy = this->random_.template normal<T>({rows, out}),
                   x = this->random_.template normal<T>({rows, in});
        const auto dw = before<T>(this->random_, {out, in}, write),
                   dbias = before<T>(this->random_, {out}, write);
        Reference expected = base(dw, write), expected_bias = base(dbias, write);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t o = 0; o < out; ++o) {
            expected_bias[o] += dy[r * out + o];
            for (std::int64_t i = 0; i < in; ++i) expected[o * in + i] += dy[r * out + o] * x[r * in + i];
          }
        ops::linear_backward_weight(context, dy, x, dw, write);
        ops::linear_backward_bias(context, dy, dbias, write);
        expect_close(dw, expected, this->random_);
        expect_close(dbias, expected_bias, this->random_);
      }
}

TYPED_TEST(LinearTest, BitsDependNeitherOnThreadsNorOnTheNumberOfRows) {
  using T = TypeParam;
  constexpr std::int64_t rows = 127, in = 300, out = 200;
  Context one = Context::cpu(1), two = Context::cpu(2);
  const auto x = this->random_.template normal<T>({rows, in}),
             w = this->random_.template normal<T>({out, in});
  const auto y1 = poisoned<T>({rows, out}), y2 = poisoned<T>({rows, out}), last = poisoned<T>({1, out});
  ops::linear_forward(one, x, w, Tensor(), Tensor(), y1);
  ops::linear_forward(two, x, w, Tensor(), Tensor(), y2);
  EXPECT_EQ(y1.values, y2.values);
  ops::linear_forward(one, x.tensor.slice((rows - 1) * in, in).reshape({1, in}), w, Tensor(), Tensor(), last);
  EXPECT_TRUE(std::equal(last.values.begin(), last.values.end(), y1.values.end() - out));
}

TYPED_TEST(LinearTest, LeadingDimensionsAreRows) {
  using T = TypeParam;
  Context context = Context::cpu();
  const auto x = this->random_.template normal<T>({2, 3, 5}), w = this->random_.template normal<T>({4, 5});
  const auto y = poisoned<T>({2, 3, 4}), flat = poisoned<T>({6, 4});
  ops::linear_forward(context, x, w, Tensor(), Tensor(), y);
  ops::linear_forward(context, x.tensor.reshape({6, 5}), w, Tensor(), Tensor(), flat);
  EXPECT_EQ(y.values, flat.values);
}

TEST(LinearErrors, ShapesAndTypesMustFit) {
  Context context = Context::cpu();
  const Owned<float> x({4, 3}), w({2, 3}), y({4, 2}), bias({2});
  const Owned<double> x64({4, 3});
  const Tensor none;
  EXPECT_NO_THROW(ops::linear_forward(context, x, w, bias, none, y));
  EXPECT_THROW(ops::linear_forward(context, x, Owned<float>({3, 2}), bias, none, y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, Owned<float>({3}), none, y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, bias, none, Owned<float>({5, 2})), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x64, w, bias, none, y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, Owned<double>({2}), none, y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, bias, Owned<float>({3, 2}), y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, bias, Owned<double>({4, 2}), y), ContractError);
  EXPECT_THROW(ops::linear_gelu_forward(context, x, w, Owned<float>({3}), y, y), ContractError);
  EXPECT_THROW(ops::linear_gelu_forward(context, x, w, bias, Owned<float>({4, 3}), y), ContractError);
  EXPECT_THROW(ops::linear_gelu_forward(context, x, w, bias, Owned<double>({4, 2}), y), ContractError);
  EXPECT_THROW(ops::linear_gelu_backward_input(context, y, w, x, Owned<float>({4, 4})), ContractError);
  EXPECT_THROW(ops::linear_gelu_backward_input(context, y, w, y, x), ContractError);
  EXPECT_THROW(ops::linear_gelu_backward_input(context, y, w, x64, x), ContractError);
  EXPECT_THROW(ops::linear_backward_input(context, y, w, Owned<float>({4, 4})), ContractError);
  EXPECT_THROW(ops::linear_backward_weight(context, y, x, Owned<float>({3, 2}), Write::assign),
               ContractError);
  EXPECT_THROW(ops::linear_backward_bias(context, y, Owned<float>({3}), Write::assign), ContractError);
}

}  // namespace
}  // namespace tandem
