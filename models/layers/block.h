#pragma once

#include <string>

#include "models/layers/attention.h"
#include "models/layers/layer_norm.h"
#include "models/layers/linear.h"

namespace tandem {

/// What backward computes once more in place of keeping it from forward: nothing; the output of the GELU
/// (4·width of a block's some 16·width values a token); or all of a block but its output, which leaves one
/// block's memory for all.
enum class Recompute { none, gelu, block };

/// A pre-norm transformer block (GPT-2), x and y [B, T, width]:
///
///     h = x + attn.c_proj(attention(attn.c_attn(ln_1(x))))
///     y = h + mlp.c_proj(gelu(mlp.c_fc(ln_2(h))))
///
/// Backward turns the gradient of y into that of x in place: it returns dy.
class Block final : public Module {
 public:
  /// Parameters are named `name`.ln_1.weight and so on, as in GPT-2. Matrices start normal with `stddev`, the
  /// two projections onto the residual stream with `residual_stddev`.
  Block(const std::string& name, std::int64_t width, std::int64_t heads, double stddev,
        double residual_stddev);

  /// Before plan(). What is computed once more has the same values, on a GPU up to the rounding of a GELU
  /// (which forward fuses into its product).
  void set_recompute(Recompute recompute) { recompute_ = recompute; }

  ParameterList parameters() override;
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

 private:
  void plan_inside(MemoryPlan& memory, const TensorSpec& input);
  /// All but the last product.
  void forward_inside(Context& context, const Tensor& x);

  LayerNorm ln_1_;
  Linear c_attn_;  // width → 3·width
  CausalAttention attention_;
  Linear attn_c_proj_;  // width → width
  LayerNorm ln_2_;
  Linear c_fc_;        // width → 4·width
  Linear mlp_c_proj_;  // 4·width → width

  Recompute recompute_ = Recompute::none;
  Tensor x_;      // [B, T, width], a view of the last input
  Tensor h_, y_;  // [B, T, width], saved
  Tensor pre_gelu_,
      hidden_;       // [B, T, 4·width], saved: before and after the GELU; the latter scratch if recomputed
  Tensor d_narrow_;  // [B, T, width], scratch: gradients of norm outputs and of attention's output
  Tensor d_qkv_, d_hidden_;  // [B, T, 3·width], [B, T, 4·width], scratch
};

}  // namespace tandem
