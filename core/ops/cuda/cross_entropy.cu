#include <cfloat>

#include <climits>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cross_entropy.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/cuda/workspace.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 512;  // two blocks' rows of 50304 bf16 fit into a multiprocessor's shared memory
constexpr int kBatch = 4;      // vectors that a thread has under way
constexpr int kTotalThreads = 1024;

struct RowLoss {
  float loss;
  int correct;
};

template <class T>
struct Rows {
  T* logits;  // [rows, columns]
  std::int64_t rows;
  int columns, classes;
  const std::int32_t* targets;  // [rows]
  const double* seed;           // null: the logits are only read
  RowLoss* results;             // [rows]
};

/// eˣ without the care that results below 10⁻³⁸ would take: they are 0.
__device__ inline float exponential(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
}

/// The softmax of what was seen so far: its largest logit, where the first of these stands (the start of its
/// vector), and Σ exp(logit − maximum). fmaxf passes over a NaN, but the sum does not.
struct Softmax {
  float maximum, sum;
  int where;

  static __device__ Softmax of_nothing() { return {-FLT_MAX, 0, INT_MAX}; }  // finite: −∞ − −∞ would be NaN

  template <class T, int N>
  __device__ void add(const Elements<T, N>& x, int start) {
    float largest = x[0], more = 0;
#pragma unroll
    for (int i = 1; i < N; ++i) largest = fmaxf(largest, x[i]);
    if (largest > maximum) {
      sum *= exponential(maximum - largest);
      maximum = largest;
      where = start;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) more += exponential(x[i] - maximum);
    sum += more;
  }

  /// That of all lanes, in all lanes.
  __device__ Softmax over_warp() const {
    Softmax all = *this;
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      all.maximum = fmaxf(all.maximum, __shfl_xor_sync(~0u, all.maximum, distance));
    all.sum = warp_sum(sum * exponential(maximum - all.maximum));
    all.where = __reduce_min_sync(~0u, maximum == all.maximum ? where : INT_MAX);
    return all;
  }
  /// That of all threads, in all threads. `shared`: [warps].
  __device__ Softmax over_block(Softmax* shared) const {
    const int lane = threadIdx.x % kWarp, warps = blockDim.x / kWarp;
    const Softmax mine = over_warp();
    if (lane == 0) shared[threadIdx.x / kWarp] = mine;
    __syncthreads();
    return (lane < warps ? shared[lane] : of_nothing()).over_warp();
  }
};

/// Calls `each(v, vector)` for this thread's share of `count` vectors: v = thread, thread + threads, …
template <int N, class T, class Each>
__device__ inline void for_vectors(const T* from, int count, Each&& each) {
  for (int first = threadIdx.x; first < count; first += kBatch * blockDim.x) {
    Elements<T, N> x[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int v = first + b * blockDim.x;
      if (v < count) x[b] = Elements<T, N>::load(from + std::int64_t{v} * N);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int v = first + b * blockDim.x;
      if (v < count) each(v, x[b]);
    }
  }
}

/// The target's logit, as the thread whose element it is came across it.
struct Target {
  int start = -1;  // of its vector; −1 in the other threads
  float logit = 0;
  float before = 0;  // the largest of those before it in its vector

  template <class T, int N>
  __device__ Target(const Elements<T, N>& x, int target, int vector_start)
      : start(vector_start), before(-INFINITY) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (start + i < target) before = fmaxf(before, x[i]);
      if (start + i == target) logit = x[i];
    }
  }
  Target() = default;

  __device__ bool is_first_maximum(const Softmax& softmax) const {
    return softmax.where == start && logit == softmax.maximum && before < logit;
  }
};

/// A block for each row. One pass over memory finds the softmax; with a seed, a second one writes the
/// gradient, reading the row from shared memory, where kCached left it. A thread reads and writes the same
/// elements in both.
template <int N, bool kCached, class T>
__global__ void __launch_bounds__(kThreads, 2) row_kernel(const Rows<T> at) {
  using Vector = Elements<T, N>;
  extern __shared__ float4 cache_memory[];
  __shared__ Softmax shared[kMostWarps];
  T* const cache = reinterpret_cast<T*>(cache_memory);
  const std::int64_t r = blockIdx.x;
  T* const row = at.logits + r * at.columns;
  const int target = at.targets[r], vectors = at.classes / N, whole = vectors * N;
  const int first_alone = whole + threadIdx.x;  // of the elements after the whole vectors
  if (target < 0 || target >= at.classes) {     // does not count; or is not a class, which NaN shows
    if (threadIdx.x == 0) at.results[r] = {target == -1 ? 0 : NAN, 0};
    if (!at.seed) return;
    for (int v = threadIdx.x; v < vectors; v += blockDim.x) Vector::zero().store(row + std::int64_t{v} * N);
    for (int i = first_alone; i < at.columns; i += blockDim.x) row[i] = from_float<T>(0);
    return;
  }
  Softmax part = Softmax::of_nothing();
  Target own;
  for_vectors<N>(row, vectors, [&](int v, const Vector& x) {
    if constexpr (kCached) x.store(cache + v * N);
    if (v == target / N) own = Target(x, target, v * N);
    part.add(x, v * N);
  });
  for (int i = first_alone; i < at.classes; i += blockDim.x) {
    const Elements<T, 1> x{{row[i]}};
    if (i == target) own = Target(x, target, i);
    part.add(x, i);
  }
  const Softmax softmax = part.over_block(shared);
  if (own.start >= 0)
    at.results[r] = {logf(softmax.sum) + (softmax.maximum - own.logit), own.is_first_maximum(softmax)};
  if (!at.seed) return;

  const float seed = static_cast<float>(*at.seed), scale = seed / softmax.sum;
  for_vectors<N>(kCached ? cache : row, vectors, [&](int v, const Vector& x) {
    Vector gradient;
#pragma unroll
    for (int i = 0; i < N; ++i) gradient.set(i, exponential(x[i] - softmax.maximum) * scale);
    gradient.store(row + std::int64_t{v} * N);
  });
  for (int i = first_alone; i < at.columns; i += blockDim.x)
    row[i] = from_float<T>(i < at.classes ? exponential(to_float(row[i]) - softmax.maximum) * scale : 0);
  if (own.start >= 0) row[target] = from_float<T>(exponential(own.logit - softmax.maximum) * scale - seed);
}

/// Sums over all rows, in a fixed order; one block.
__global__ void __launch_bounds__(kTotalThreads)
    total_kernel(const RowLoss* results, std::int64_t rows, double* loss_sum, long long* correct) {
  __shared__ double losses[kMostWarps];
  __shared__ long long hits[kMostWarps];
  double loss = 0;
  long long hit = 0;
#pragma unroll 8
  for (std::int64_t row = threadIdx.x; row < rows; row += kTotalThreads) {
    const RowLoss result = results[row];
    loss += result.loss;
    hit += result.correct;
  }
  loss = block_sum(loss, losses);
  hit = block_sum(hit, hits);
  if (threadIdx.x > 0) return;
  *loss_sum = loss;
  *correct = hit;
}

template <int N, bool kCached, class T>
void launch_rows(const Rows<T>& at, std::size_t cache_bytes, cudaStream_t stream) {
  const unsigned threads = threads_for(ceil_div(at.classes, N), kThreads);
  const auto kernel = row_kernel<N, kCached, T>;
  if constexpr (kCached) {
    TANDEM_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(cache_bytes)));
    TANDEM_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
  }
  kernel<<<static_cast<unsigned>(at.rows), threads, cache_bytes, stream>>>(at);
  TANDEM_CUDA(cudaGetLastError());
}

void cross_entropy(Context& context, const Tensor& logits, std::int64_t classes, const Tensor& targets,
                   const double* seed, const Tensor& loss_sum, const Tensor& correct) {
  auto& device = tandem::cuda::device_of(context);
  const cudaStream_t stream = tandem::cuda::stream_of(context.compute());
  auto* results = static_cast<RowLoss*>(device.part<Workspace>().data());
  const std::int64_t rows = targets.numel(), columns = logits.last();
  constexpr auto kMostRows = static_cast<std::int64_t>(Workspace::kBytes / sizeof(RowLoss));
  require(
      rows <= kMostRows && columns <= INT_MAX / 2,
      "cross entropy: a GPU takes at most {} rows of {} columns at a time, not {} of {}: choose a smaller "
      "--batch",
      kMostRows, INT_MAX / 2, rows, columns);
  if (rows > 0)
    visit_device(logits.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Rows<T> at{static_cast<T*>(logits.data()),
                       rows,
                       static_cast<int>(columns),
                       static_cast<int>(classes),
                       targets.as<std::int32_t>(),
                       seed,
                       results};
      constexpr std::size_t kStatic = kMostWarps * sizeof(Softmax);
      const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(T);
      const bool cached = seed && bytes + kStatic <= device.properties().sharedMemPerBlockOptin;
      visit_vectors<kPerVector<T>>(columns % kPerVector<T> == 0 && aligned(at.logits), [&](auto n) {
        constexpr int N = decltype(n)::value;
        if (cached)
          launch_rows<N, true>(at, bytes, stream);
        else
          launch_rows<N, false>(at, 0, stream);
      });
    });
  static_assert(sizeof(long long) == sizeof(std::int64_t));  // the shuffles know only the former
  total_kernel<<<1, kTotalThreads, 0, stream>>>(results, rows, loss_sum.as<double>(),
                                                reinterpret_cast<long long*>(correct.as<std::int64_t>()));
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace

void cross_entropy_forward(Context& context, const Tensor& logits, std::int64_t classes,
                           const Tensor& targets, const Tensor& loss_sum, const Tensor& correct) {
  cross_entropy(context, logits, classes, targets, nullptr, loss_sum, correct);
}

void cross_entropy_forward_backward(Context& context, const Tensor& logits, std::int64_t classes,
                                    const Tensor& targets, const Tensor& seed, const Tensor& loss_sum,
                                    const Tensor& correct) {
  cross_entropy(context, logits, classes, targets, seed.as<double>(), loss_sum, correct);
}

}  // namespace tandem::ops::cuda
