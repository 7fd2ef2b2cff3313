#include "core/ops/linear.h"

#include "core/ops/cpu/column_sums.h"
#include "core/ops/cpu/gemm.h"

namespace tandem::ops {

namespace {

using cpu::row_major;

struct LinearSizes {
  std::int64_t rows, in, out;
};

LinearSizes check_linear(const Tensor& input, const Tensor& output, const Tensor& weight) {
  const LinearSizes sizes{input.rows(), input.last(), output.last()};
  require(output.rows() == sizes.rows && weight.shape() == Shape{sizes.out, sizes.in},
          "linear: input {}, output {} and weight {} do not fit", input.shape().str(), output.shape().str(),
          weight.shape().str());
  require(input.dtype() == output.dtype() && input.dtype() == weight.dtype(),
          "linear: input is {}, output {}, weight {}", name_of(input.dtype()), name_of(output.dtype()),
          name_of(weight.dtype()));
  return sizes;
}

}  // namespace

void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& y, Write write) {
  const LinearSizes s = check_linear(x, y, weight);
  require(!bias || bias.shape() == Shape{s.out}, "linear: bias {} for {} outputs", bias.shape().str(), s.out);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    cpu::gemm(context, s.rows, s.out, s.in, row_major(x.as<T>(), s.in),
              row_major(weight.as<T>(), s.in).transposed(), y.as<T>(), s.out, write,
              bias ? bias.as<T>() : nullptr);
  });
}

void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write) {
  const LinearSizes s = check_linear(dx, dy, weight);
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    cpu::gemm(context, s.rows, s.in, s.out, row_major(dy.as<T>(), s.out), row_major(weight.as<T>(), s.in),
              dx.as<T>(), s.in, write);
  });
}

void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write) {
  const LinearSizes s = check_linear(x, dy, dweight);
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    cpu::gemm(context, s.out, s.in, s.rows, row_major(dy.as<T>(), s.out).transposed(),
              row_major(x.as<T>(), s.in), dweight.as<T>(), s.in, write);
  });
}

void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write) {
  const std::int64_t out = dy.last();
  require(dbias.shape() == Shape{out}, "linear: bias gradient {} for {} outputs", dbias.shape().str(), out);
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* gradient = dy.as<T>();
    cpu::column_sums(
        context, dy.rows(), out, [=](std::int64_t row, std::int64_t j) { return gradient[row * out + j]; },
        dbias.as<T>(), write);
  });
}

}  // namespace tandem::ops
