#include "core/ops/linear.h"

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/bias_add.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/matmul.h"

namespace tandem::ops::cuda {

void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& addend, const Tensor& y) {
  Product product{.rows = y.rows(),
                  .cols = y.last(),
                  .inner = x.last(),
                  .right_transposed = true,  // W lies as [out, in]
                  .operands = x.dtype(),
                  .result = y.dtype(),
                  .epilogue = bias ? Epilogue::bias : Epilogue::none,
                  .adds = static_cast<bool>(addend)};
  const Operands operands{.left = x.data(),
                          .right = weight.data(),
                          .added = addend.data(),
                          .bias = bias.data(),
                          .result = y.data()};
  Matmul& matmul = matmul_of(context);
  if (matmul.run(context, product, operands)) return;
  product.epilogue = Epilogue::none;
  matmul.run(context, product, operands);
  add_bias(context, bias, y);
}

void linear_gelu_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& pre, const Tensor& y) {
  const Product product{.rows = y.rows(),
                        .cols = y.last(),
                        .inner = x.last(),
                        .right_transposed = true,
                        .operands = x.dtype(),
                        .result = y.dtype(),
                        .epilogue = bias ? Epilogue::gelu_aux_bias : Epilogue::gelu_aux};
  const Operands operands{
      .left = x.data(), .right = weight.data(), .bias = bias.data(), .aux = pre.data(), .result = y.data()};
  if (matmul_of(context).run(context, product, operands)) return;
  cuda::linear_forward(context, x, weight, bias, {}, pre);
  cuda::activation_forward(context, Activation::gelu, pre, y);
}

void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write) {
  const Product product{.rows = dx.rows(),
                        .cols = dx.last(),
                        .inner = dy.last(),
                        .operands = dy.dtype(),
                        .result = dx.dtype(),
                        .adds = write == Write::add};
  matmul_of(context).run(
      context, product, {.left = dy.data(), .right = weight.data(), .added = dx.data(), .result = dx.data()});
}

void linear_gelu_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& pre,
                                const Tensor& dpre) {
  const Product product{.rows = dpre.rows(),
                        .cols = dpre.last(),
                        .inner = dy.last(),
                        .operands = dy.dtype(),
                        .result = dpre.dtype(),
                        .epilogue = Epilogue::dgelu};
  const Operands operands{
      .left = dy.data(), .right = weight.data(), .aux = pre.data(), .result = dpre.data()};
  if (matmul_of(context).run(context, product, operands)) return;
  cuda::linear_backward_input(context, dy, weight, dpre, Write::assign);
  cuda::activation_backward(context, Activation::gelu, pre, dpre, dpre);
}

void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write) {
  const Product product{.rows = dy.last(),
                        .cols = x.last(),
                        .inner = dy.rows(),
                        .left_transposed = true,  // dy lies as [rows, out]
                        .operands = dy.dtype(),
                        .result = dweight.dtype(),
                        .adds = write == Write::add};
  if (product.inner == 0) {  // a rank without rows: its gradient is zero
    if (!product.adds)
      TANDEM_CUDA(cudaMemsetAsync(dweight.data(), 0, static_cast<std::size_t>(dweight.bytes()),
                                  tandem::cuda::stream_of(context.compute())));
    return;
  }
  matmul_of(context).run(
      context, product,
      {.left = dy.data(), .right = x.data(), .added = dweight.data(), .result = dweight.data()});
}

}  // namespace tandem::ops::cuda
