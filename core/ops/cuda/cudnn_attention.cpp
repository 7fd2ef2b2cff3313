#include "core/ops/cuda/cudnn_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

// The frontend then looks for cuDNN, libcudart and libcuda when it calls them: a program linked with libcuda
// would not start where there is no driver.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/cuda_stream.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // which the frontend asks its user to define
}

namespace tandem::ops::cuda {

namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;
using fe::graph::Tensor_attributes;

// The same bits in every run. Otherwise cuDNN 9 adds up dQ in the order in which blocks come; this way it
// keeps dS [B, heads, T, T] of 2 bytes in the workspace and makes dQ of that.
constexpr bool kDeterministic = true;

// Of each tensor in a graph. K and V are views of the memory that Q begins, dK and dV of that of dQ.
enum Id : std::int64_t { kQ = 1, kK, kV, kY, kLse, kDy, kDq, kDk, kDv };

void check(const fe::error_t& status, const char* call) {
  if (status.is_bad()) throw DeviceError("{} of cuDNN failed: {}", call, fe::error_t(status).get_message());
}

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw DeviceError("{} of cuDNN failed: {}", call, fe::detail::get_error_string(status));
}

struct Sizes {
  DType dtype;
  std::int64_t batch, sequence, heads, head_size;

  Sizes(const TensorSpec& qkv, std::int64_t head_count)
      : dtype(qkv.dtype),
        batch(qkv.shape[0]),
        sequence(qkv.shape[1]),
        heads(head_count),
        head_size(qkv.shape.last() / 3 / head_count) {}

  auto operator<=>(const Sizes&) const = default;

  /// Bytes before part 0 (q), 1 (k), 2 (v) of qkv: each takes heads × head_size of two bytes.
  std::int64_t part(int i) const { return i * heads * head_size * 2; }
};

/// One of a head's tensors [B, heads, T, head size], in memory [B, T, parts, heads, head size].
Tensor_attributes& describe(Tensor_attributes& tensor, Id id, const Sizes& s, int parts) {
  const std::int64_t row = parts * s.heads * s.head_size;
  return tensor.set_uid(id)
      .set_dim({s.batch, s.heads, s.sequence, s.head_size})
      .set_stride({s.sequence * row, s.head_size, row, 1});
}

/// lse [B, heads, T, 1]; cuDNN takes nothing but a dense one.
Tensor_attributes& describe_lse(Tensor_attributes& tensor, const Sizes& s) {
  return tensor.set_uid(kLse)
      .set_dim({s.batch, s.heads, s.sequence, 1})
      .set_stride({s.heads * s.sequence, s.sequence, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

std::unique_ptr<Graph> new_graph(const Sizes& s) {
  auto graph = std::make_unique<Graph>();
  graph->set_io_data_type(s.dtype == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<Tensor_attributes> input(Graph& graph, Id id, const Sizes& s, int parts) {
  Tensor_attributes tensor;
  return graph.tensor(describe(tensor, id, s, parts));
}

/// What both directions are told: the scale, and that a query sees no key after it.
template <class Attributes>
Attributes causal(const Sizes& s) {
  Attributes attributes;
  attributes.set_attn_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_size))))
      .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0);
  return attributes;
}

void build(cudnnHandle_t handle, Graph& graph) {
  check(graph.build(handle, {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "Graph::build");
}

std::unique_ptr<Graph> forward_graph(cudnnHandle_t handle, const Sizes& s) {
  auto graph = new_graph(s);
  const auto q = input(*graph, kQ, s, 3), k = input(*graph, kK, s, 3), v = input(*graph, kV, s, 3);
  // The composite graph: before 9.21 the unified operation has no mask.
  const auto attributes = causal<fe::graph::SDPA_attributes>(s)
                              .set_name("attention")
                              .set_generate_stats(true)
                              .set_implementation(fe::AttentionImplementation_t::COMPOSITE);
  const auto [y, lse] = graph->sdpa(q, k, v, attributes);
  describe(*y, kY, s, 1).set_output(true);
  describe_lse(*lse, s).set_output(true);
  build(handle, *graph);
  return graph;
}

std::unique_ptr<Graph> backward_graph(cudnnHandle_t handle, const Sizes& s) {
  auto graph = new_graph(s);
  const auto q = input(*graph, kQ, s, 3), k = input(*graph, kK, s, 3), v = input(*graph, kV, s, 3);
  const auto y = input(*graph, kY, s, 1), dy = input(*graph, kDy, s, 1);
  Tensor_attributes statistics;
  const auto lse = graph->tensor(describe_lse(statistics, s));
  const auto attributes = causal<fe::graph::SDPA_backward_attributes>(s)
                              .set_name("attention_backward")
                              .set_deterministic_algorithm(kDeterministic);
  const auto [dq, dk, dv] = graph->sdpa_backward(q, k, v, y, dy, lse, attributes);
  describe(*dq, kDq, s, 3).set_output(true);
  describe(*dk, kDk, s, 3).set_output(true);
  describe(*dv, kDv, s, 3).set_output(true);
  build(handle, *graph);
  return graph;
}

/// The plans for one shape.
struct Plans {
  std::unique_ptr<Graph> forward, backward;
  std::int64_t scratch = 0;

  Plans(cudnnHandle_t handle, const Sizes& s)
      : forward(forward_graph(handle, s)), backward(backward_graph(handle, s)) {
    for (const Graph* graph : {forward.get(), backward.get()}) {
      std::int64_t bytes = 0;
      check(graph->get_workspace_size(bytes), "Graph::get_workspace_size");
      scratch = std::max(scratch, bytes);
    }
  }
};

/// What we ask cuDNN for. It does more, but not T = 1, and before 9.15.1 other T than these only with a copy
/// from the host in every backward. The frontend puts [B, heads, T] floats before cuDNN's workspace: a
/// multiple of 8 keeps that aligned.
bool asked_for(const Sizes& s) {
  const std::int64_t multiple = fe::detail::get_backend_version() > 91500 ? 8 : 128;
  return (s.dtype == DType::bf16 || s.dtype == DType::f16) && s.head_size % 8 == 0 && s.head_size <= 128 &&
         s.sequence % multiple == 0;
}

/// A device's handle, and its plans by shape.
class CudnnAttention {
 public:
  CudnnAttention() { check(fe::detail::create_handle(&handle_), "cudnnCreate"); }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;
  ~CudnnAttention() {
    plans_.clear();
    fe::detail::destroy_handle(handle_);
  }

  /// Null where cuDNN has none.
  const Plans* plans(const Sizes& s) {
    const auto [at, is_new] = plans_.try_emplace(s);
    if (is_new) at->second = make(s);
    return at->second.get();
  }

  void run(const Graph& graph, Context& context, std::unordered_map<std::int64_t, void*> memory,
           const Tensor& scratch) {
    check(fe::detail::set_stream(handle_, tandem::cuda::stream_of(context.compute())), "cudnnSetStream");
    check(graph.execute(handle_, memory, scratch.data()), "Graph::execute");
  }

 private:
  std::unique_ptr<Plans> make(const Sizes& s) {
    try {  // the frontend throws, too, where a library is missing
      return std::make_unique<Plans>(handle_, s);
    } catch (const std::exception& error) {
      fmt::print(
          stderr,
          "cuDNN {} offers no attention for [B {}, T {}, {} heads of {}] in {}; our own, which is slower, "
          "takes its place: {}\n",
          fe::detail::get_backend_version(), s.batch, s.sequence, s.heads, s.head_size, name_of(s.dtype),
          error.what());
      return nullptr;
    }
  }

  cudnnHandle_t handle_ = nullptr;
  std::map<Sizes, std::unique_ptr<Plans>> plans_;
};

CudnnAttention& cudnn_of(const Context& context) {
  return tandem::cuda::device_of(context).part<CudnnAttention>();
}

void* at(const Tensor& tensor, std::int64_t bytes) {
  return static_cast<std::byte*>(tensor.data()) + bytes;
}

}  // namespace

bool cudnn_attention_available() {
  static const bool available = [] {
    fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    return fe::cudnn_dlhandle != nullptr;
  }();
  return available;
}

std::string cudnn_version() {
  if (!cudnn_attention_available()) return "";
  auto* get_version = reinterpret_cast<std::size_t (*)()>(dlsym(fe::cudnn_dlhandle, "cudnnGetVersion"));
  const std::size_t version = get_version ? get_version() : 0;
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

bool cudnn_attends(const Context& context, const TensorSpec& qkv, std::int64_t heads) {
  const Sizes s(qkv, heads);
  return cudnn_attention_available() && asked_for(s) && cudnn_of(context).plans(s) != nullptr;
}

std::int64_t cudnn_attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t heads) {
  return cudnn_of(context).plans({qkv, heads})->scratch;
}

void cudnn_attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                             const Tensor& lse, const Tensor& scratch) {
  const Sizes s(qkv.spec(), heads);
  CudnnAttention& cudnn = cudnn_of(context);
  cudnn.run(*cudnn.plans(s)->forward, context,
            {{kQ, qkv.data()},
             {kK, at(qkv, s.part(1))},
             {kV, at(qkv, s.part(2))},
             {kY, y.data()},
             {kLse, lse.data()}},
            scratch);
}

void cudnn_attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                              const Tensor& lse, const Tensor& dy, const Tensor& dqkv,
                              const Tensor& scratch) {
  const Sizes s(qkv.spec(), heads);
  CudnnAttention& cudnn = cudnn_of(context);
  cudnn.run(*cudnn.plans(s)->backward, context,
            {{kQ, qkv.data()},
             {kK, at(qkv, s.part(1))},
             {kV, at(qkv, s.part(2))},
             {kY, y.data()},
             {kLse, lse.data()},
             {kDy, dy.data()},
             {kDq, dqkv.data()},
             {kDk, at(dqkv, s.part(1))},
             {kDv, at(dqkv, s.part(2))}},
            scratch);
}

}  // namespace tandem::ops::cuda
