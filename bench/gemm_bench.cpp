// bench_ops: how fast the operations of a training step are on this machine, with one thread.
//
// First table: the matrix products of one gpt-nano and one MLP step against Eigen's expression for the same
// product, interleaved in one run, medians of --repeat measurements. Second table: the time of each kind of
// operation in one gpt-nano step (forward, backward, update).

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <fmt/core.h>

#include "core/base/philox.h"
#include "core/ops/attention.h"
#include "core/ops/cross_entropy.h"
#include "core/ops/embedding.h"
#include "core/ops/layer_norm.h"
#include "core/ops/linear.h"
#include "core/ops/update.h"
#include "core/tensor/arena.h"

namespace {

using namespace tandem;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<Matrix>;

/// This thread's processor time: what other programs take on a busy machine is not counted.
double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& work) {
  const double start = processor_time();
  work();
  return processor_time() - start;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

View view(const Tensor& t) {
  return {t.as<float>(), t.rows(), t.last()};
}

/// Memory of the benchmark, filled with normal numbers.
class Workspace {
 public:
  explicit Workspace(const Context& context) : arena_(context, std::int64_t{1} << 30) {}

  Tensor normal(Shape shape) {
    const Tensor t = zeros(shape);
    for (std::int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = static_cast<float>(random_.normal());
    return t;
  }
  Tensor zeros(Shape shape, DType dtype = DType::f32) { return arena_.allocate(dtype, shape); }
  Tensor integers(Shape shape, std::uint32_t below) {
    const Tensor t = zeros(shape, DType::i32);
    for (std::int64_t i = 0; i < t.numel(); ++i)
      t.as<std::int32_t>()[i] = static_cast<std::int32_t>(random_() % below);
    return t;
  }

 private:
  Arena arena_;
  Philox random_{1};
};

struct Layer {
  std::string name;
  std::int64_t rows, in, out;
  int times;  ///< in one step
};

struct Rates {
  double ours, eigen;  ///< seconds of all products of a layer
};

/// One row of the first table for each product: forward, input gradient, weight gradient.
Rates measure_layer(Context& context, const Layer& layer, int repeat) {
  Workspace memory(context);
  const auto& [name, rows, in, out, times] = layer;
  const Tensor x = memory.normal({rows, in}), w = memory.normal({out, in}), bias = memory.normal({out});
  const Tensor y = memory.zeros({rows, out}), dy = memory.normal({rows, out}), dx = memory.zeros({rows, in});
  const Tensor dw = memory.zeros({out, in});
  View mx = view(x), mw = view(w), my = view(y), mdy = view(dy), mdx = view(dx), mdw = view(dw);

  struct Product {
    const char* name;
    std::function<void()> ours, eigen;
  };
  const Product products[] = {
      {"forward", [&] { ops::linear_forward(context, x, w, bias, {}, y); },
       [&] { my.noalias() = mx * mw.transpose(); }},
      {"dX", [&] { ops::linear_backward_input(context, dy, w, dx); }, [&] { mdx.noalias() = mdy * mw; }},
      {"dW", [&] { ops::linear_backward_weight(context, dy, x, dw, Write::assign); },
       [&] { mdw.noalias() = mdy.transpose() * mx; }},
  };
  const double gflop = 2e-9 * static_cast<double>(rows * in * out);
  Rates total{};
  for (const Product& product : products) {
    std::vector<double> ours, eigen;
    product.ours(), product.eigen();
    for (int i = 0; i < repeat; ++i) {
      ours.push_back(seconds(product.ours));
      eigen.push_back(seconds(product.eigen));
    }
    fmt::print("{:<12} {:>5} {:>5} {:>5}  {:<8} {:>7.1f} {:>7.1f} {:>6.0f}%\n", name, rows, in, out,
               product.name, gflop / median(ours), gflop / median(eigen), 100 * median(eigen) / median(ours));
    total.ours += times * median(ours);
    total.eigen += times * median(eigen);
  }
  return total;
}

void compare_products(Context& context, const char* title, const std::vector<Layer>& layers, int repeat) {
  fmt::print(
      "{}: GFLOP/s of our products and of Eigen's\n{:<12} {:>5} {:>5} {:>5}  {:<8} {:>7} {:>7} {:>7}\n",
      title, "layer", "rows", "in", "out", "product", "ours", "Eigen", "ratio");
  Rates total{};
  double gflop = 0;
  for (const Layer& layer : layers) {
    const Rates rates = measure_layer(context, layer, repeat);
    total.ours += rates.ours;
    total.eigen += rates.eigen;
    gflop += 6e-9 * static_cast<double>(layer.times * layer.rows * layer.in * layer.out);
  }
  fmt::print(
      "all products of a step: {:.2f} ms at {:.1f} GFLOP/s, Eigen {:.2f} ms at {:.1f}: {:.0f}% of its "
      "rate\n\n",
      1e3 * total.ours, gflop / total.ours, 1e3 * total.eigen, gflop / total.eigen,
      100 * total.eigen / total.ours);
}

/// The operations of a gpt-nano step (b 8, T 128), each as often as the step has it.
void measure_step(Context& context, int repeat) {
  constexpr std::int64_t batch = 8, sequence = 128, width = 256, heads = 4, layers = 4, vocabulary = 256;
  constexpr std::int64_t rows = batch * sequence, parameters = 3257856;
  Workspace memory(context);
  const auto hidden = [&] { return memory.normal({batch, sequence, width}); };
  const auto x = hidden(), y = hidden(), dy = hidden(), dx = hidden();
  const auto qkv = memory.normal({batch, sequence, 3 * width}),
             dqkv = memory.normal({batch, sequence, 3 * width});
  const auto wide = memory.normal({batch, sequence, 4 * width}),
             wide_y = memory.normal({batch, sequence, 4 * width}),
             dwide = memory.normal({batch, sequence, 4 * width});
  const auto lse = memory.zeros({batch, heads, sequence});
  const auto scratch = memory.zeros({ops::attention_scratch(context, qkv.spec(), heads)}, DType::u8);
  const auto w = memory.normal({width}), b = memory.normal({width}), dw = memory.normal({width}),
             mean = memory.normal({rows}), rstd = memory.normal({rows});
  const auto w_qkv = memory.normal({3 * width, width}), w_out = memory.normal({width, width});
  const auto w_up = memory.normal({4 * width, width}), w_down = memory.normal({width, 4 * width});
  const auto b_wide = memory.normal({4 * width}), b_qkv = memory.normal({3 * width});
  const auto ids = memory.integers({batch, sequence}, vocabulary),
             targets = memory.integers({rows}, vocabulary);
  const auto table = memory.normal({vocabulary, width}), positions = memory.normal({sequence, width});
  const auto logits = memory.normal({rows, vocabulary});
  const auto seed = memory.zeros({1}, DType::f64), loss = memory.zeros({1}, DType::f64),
             correct = memory.zeros({1}, DType::i64);
  *seed.as<double>() = 1.0 / rows;
  const auto value = memory.normal({parameters}), grad = memory.normal({parameters});
  const auto m = memory.zeros({parameters}), v = memory.zeros({parameters});
  const ops::Segment all{0, parameters, 1, 0.1f};
  const ops::SegmentTable segments(context, {&all, 1});
  const ops::ChunkRange chunks{segments, 0, std::ssize(segments.chunks())};
  const auto sums = memory.zeros({chunks.count}, DType::f64), norm = memory.zeros({1}, DType::f64);
  const auto scalars = memory.zeros({ops::kScalars}, DType::f64);
  scalars.as<double>()[ops::kLearningRate] = 1e-3;
  scalars.as<double>()[ops::kStep] = 1;

  const auto linear = [&](const Tensor& in, const Tensor& weight, const Tensor& bias, const Tensor& out) {
    ops::linear_forward(context, in, weight, bias, {}, out);
    ops::linear_backward_input(context, out, weight, in);
    ops::linear_backward_weight(context, out, in, weight, Write::assign);
  };
  struct Kind {
    const char* name;
    int times;
    std::function<void()> work;
  };
  const Kind kinds[] = {
      {"linear layers", layers,
       [&] {
         linear(x, w_qkv, b_qkv, qkv);
         ops::linear_forward(context, x, w_out, b, /*addend=*/dx, y);
         ops::linear_backward_input(context, y, w_out, x);
         ops::linear_backward_weight(context, y, x, w_out, Write::assign);
         // Of the two around the GELU, what is not made with it.
         ops::linear_forward(context, wide_y, w_down, b, /*addend=*/dx, y);
         ops::linear_backward_weight(context, y, wide_y, w_down, Write::assign);
         ops::linear_backward_input(context, dwide, w_up, x);
         ops::linear_backward_weight(context, dwide, x, w_up, Write::assign);
       }},
      {"linear, gelu forward", layers,
       [&] { ops::linear_gelu_forward(context, x, w_up, b_wide, wide, wide_y); }},
      {"linear, gelu dX", layers, [&] { ops::linear_gelu_backward_input(context, dy, w_down, wide, dwide); }},
      {"head", 1, [&] { linear(x, table, Tensor(), logits); }},
      {"bias gradients", layers,
       [&] {
         ops::linear_backward_bias(context, dqkv, b_qkv, Write::assign);
         ops::linear_backward_bias(context, dy, b, Write::assign);
         ops::linear_backward_bias(context, wide, b_wide, Write::assign);
         ops::linear_backward_bias(context, dy, b, Write::assign);
       }},
      {"attention forward", layers, [&] { ops::attention_forward(context, qkv, heads, y, lse, scratch); }},
      {"attention backward", layers,
       [&] { ops::attention_backward(context, qkv, heads, y, lse, dy, dqkv, scratch); }},
      {"layer norm forward", 2 * layers + 1,
       [&] { ops::layer_norm_forward(context, x, w, b, y, mean, rstd); }},
      {"layer norm backward", 2 * layers + 1,
       [&] {
         ops::layer_norm_backward(context, dy, x, w, mean, rstd, {dx, Write::add}, {dw}, {b});
       }},
      {"embedding", 1,
       [&] {
         ops::embedding_forward(context, ids, table, positions, y);
         ops::embedding_backward_table(context, ids, dy, table, Write::add);
         ops::embedding_backward_positions(context, dy, positions, Write::assign);
       }},
      {"cross entropy", 1,
       [&] {
         ops::cross_entropy_forward_backward(context, logits, vocabulary, targets, seed, loss, correct);
       }},
      {"gradient norm", 1,
       [&] {
         ops::gradient_norm(context, segments, grad, sums, norm);
         ops::clip_scale(context, norm, 1.0, scalars);
       }},
      {"adamw", 1,
       [&] {
         ops::adamw_update(context, {0.9, 0.95, 1e-8}, scalars, chunks, value, value, grad, m, v);
       }},
  };
  fmt::print("gpt-nano, b {}, T {}: operations of a step, ms\n", batch, sequence);
  const double target = std::ceil(repeat / 2.0);
  double total = 0;
  for (const Kind& kind : kinds) {
    std::vector<double> times;
    for (int i = 0; i < target; ++i) times.push_back(seconds(kind.work));
    const double ms = 1e3 * kind.times * median(times);
    total += ms;
    fmt::print("{:<20} {:>8.2f}\n", kind.name, ms);
  }
  fmt::print("{:<20} {:>8.2f}  ({:.0f} tokens/s)\n", "all", total, 1e3 * rows / total);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeat = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 20;
  Context context = Context::cpu();
  compare_products(context, "gpt-nano, b 8, T 128",
                   {{"qkv", 1024, 256, 768, 4},
                    {"out", 1024, 256, 256, 4},
                    {"up", 1024, 256, 1024, 4},
                    {"down", 1024, 1024, 256, 4},
                    {"head", 1024, 256, 256, 1}},
                   repeat);
  compare_products(context, "MLP 784-1024-1024-10, b 128",
                   {{"1", 128, 784, 1024, 1}, {"2", 128, 1024, 1024, 1}, {"3", 128, 1024, 10, 1}}, repeat);
  measure_step(context, repeat);
}
