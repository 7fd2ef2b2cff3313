#include "core/ops/linear.h"

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

TYPED_TEST(LinearTest, ForwardMatchesReference) {
  using T = TypeParam;
  for (const auto& [rows, in, out] : kSizes)
    for (const Write write : {Write::assign, Write::add})
      for (const bool with_bias : {false, true})
        for (const int threads : {1, 2}) {
          Context context = Context::cpu(threads);
          const auto x = this->random_.template normal<T>({rows, in}),
                     w = this->random_.template normal<T>({out, in});
          const auto bias = this->random_.template normal<T>({out});
          const auto y = before<T>(this->random_, {rows, out}, write);
          Reference expected = base(y, write);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t o = 0; o < out; ++o) {
              double sum = with_bias ? bias[o] : 0;
              for (std::int64_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
              expected[r * out + o] += sum;
            }
          ops::linear_forward(context, x, w, with_bias ? bias.tensor : Tensor(), y, write);
          expect_close(y, expected, this->random_);
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
  ops::linear_forward(one, x, w, Tensor(), y1);
  ops::linear_forward(two, x, w, Tensor(), y2);
  EXPECT_EQ(y1.values, y2.values);
  ops::linear_forward(one, x.tensor.slice((rows - 1) * in, in).reshape({1, in}), w, Tensor(), last);
  EXPECT_TRUE(std::equal(last.values.begin(), last.values.end(), y1.values.end() - out));
}

TYPED_TEST(LinearTest, LeadingDimensionsAreRows) {
  using T = TypeParam;
  Context context = Context::cpu();
  const auto x = this->random_.template normal<T>({2, 3, 5}), w = this->random_.template normal<T>({4, 5});
  const auto y = poisoned<T>({2, 3, 4}), flat = poisoned<T>({6, 4});
  ops::linear_forward(context, x, w, Tensor(), y);
  ops::linear_forward(context, x.tensor.reshape({6, 5}), w, Tensor(), flat);
  EXPECT_EQ(y.values, flat.values);
}

TEST(LinearErrors, ShapesAndTypesMustFit) {
  Context context = Context::cpu();
  const Owned<float> x({4, 3}), w({2, 3}), y({4, 2}), bias({2});
  const Owned<double> x64({4, 3});
  EXPECT_THROW(ops::linear_forward(context, x, Owned<float>({3, 2}), bias, y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, Owned<float>({3}), y), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x, w, bias, Owned<float>({5, 2})), ContractError);
  EXPECT_THROW(ops::linear_forward(context, x64, w, bias, y), ContractError);
  EXPECT_THROW(ops::linear_backward_input(context, y, w, Owned<float>({4, 4})), ContractError);
  EXPECT_THROW(ops::linear_backward_weight(context, y, x, Owned<float>({3, 2}), Write::assign),
               ContractError);
  EXPECT_THROW(ops::linear_backward_bias(context, y, Owned<float>({3}), Write::assign), ContractError);
}

}  // namespace
}  // namespace tandem
