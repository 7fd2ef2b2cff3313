#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/cuda/workspace.h"
#include "core/ops/embedding.h"

// The gradient of the embedding table. Tokens are sorted by id, those of one id staying in order; then each
// run of equal ids is summed. A vocabulary of bytes has runs of thousands and one of words mostly short ones,
// so the sorted list is cut into pieces of fixed size, a block for each: runs that lie in one piece are done
// there, of the others every piece leaves a partial sum, and these are added in order.

namespace tandem::ops::cuda {

namespace {

constexpr int kN = 8;  // columns that a thread takes at a time
constexpr int kThreads = 256;
constexpr int kBatch = 4;                          // rows that a thread has under way
constexpr int kLeastPiece = 32, kMostPiece = 512;  // tokens
constexpr int kShares = kThreads / kWarp;          // of a long run's partial sums
constexpr int kMostTiles = 6;                      // blocks that share the columns of a long run

/// The tokens in the order of their ids.
struct Sorted {
  const std::uint32_t *ids, *tokens;  // [count]
  int count, piece;
  /// [pieces, 2, columns]: the sum of the run that came in from the piece before, and of the one that begins
  /// here and goes on.
  float* partial;
  int columns;

  int pieces() const { return (count + piece - 1) / piece; }
  __device__ float* came_in(int p) const { return partial + std::int64_t{p} * 2 * columns; }
  __device__ float* goes_on(int p) const { return came_in(p) + columns; }
};

__global__ void __launch_bounds__(kThreads) count_kernel(std::uint32_t* numbers, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) numbers[i] = i;
}

/// Adds the runs that end in a piece to the table's gradient, and leaves partial sums of those that cross its
/// ends. A block for each piece.
template <int N, class T, class G>
__global__ void __launch_bounds__(kThreads) pieces_kernel(const Sorted at, const T* dy, G* dtable) {
  // The ids of the piece, of the token before it and of that after it; −1 where there is none.
  __shared__ int ids[kMostPiece + 2], tokens[kMostPiece];
  const int begin = blockIdx.x * at.piece, size = min(at.piece, at.count - begin);
  for (int i = threadIdx.x; i < size + 2; i += blockDim.x) {
    const int token = begin + i - 1;
    ids[i] = token >= 0 && token < at.count ? static_cast<int>(at.ids[token]) : -1;
    if (i < size) tokens[i] = static_cast<int>(at.tokens[begin + i]);
  }
  __syncthreads();
  const auto id = [&](int i) { return ids[i + 1]; };
  const auto ends = [&](int i) { return id(i) != id(i + 1); };  // a run, with token i
  const auto place = [&](int row, int column) { return std::int64_t{row} * at.columns + column; };

  for (int column = threadIdx.x * N; column < at.columns; column += blockDim.x * N) {
    Elements<float, N> sum = Elements<float, N>::zero();
    bool came_in = id(-1) == id(0);
    for (int first = 0; first < size; first += kBatch) {
      Elements<T, N> x[kBatch];
      Elements<G, N> old[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int i = first + b;
        if (i >= size) continue;
        x[b] = Elements<T, N>::load(dy + place(tokens[i], column));
        if (ends(i)) old[b] = Elements<G, N>::load(dtable + place(id(i), column));
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int i = first + b;
        if (i >= size) continue;
#pragma unroll
        for (int n = 0; n < N; ++n) sum.at[n] += x[b][n];
        if (!ends(i)) continue;
        if (came_in) {
          sum.store(at.came_in(blockIdx.x) + column);
        } else {
#pragma unroll
          for (int n = 0; n < N; ++n) old[b].set(n, old[b][n] + sum[n]);
          old[b].store(dtable + place(id(i), column));
        }
        came_in = false;
        sum = Elements<float, N>::zero();
      }
    }
    if (!ends(size - 1)) sum.store((came_in ? at.came_in(blockIdx.x) : at.goes_on(blockIdx.x)) + column);
  }
}

/// Adds up the partial sums of a run that crosses pieces; the work of the block of the piece in which the run
/// begins. A warp for each of kShares interleaved shares of the partial sums. Grid: (pieces, tiles of
/// columns).
template <class G>
__global__ void __launch_bounds__(kThreads) runs_kernel(const Sorted at, G* dtable) {
  __shared__ float shared[kShares][kWarp];
  const int p = blockIdx.x, begin = p * at.piece, end = begin + at.piece, pieces = gridDim.x;
  if (end >= at.count) return;
  const std::uint32_t id = at.ids[end - 1];
  if (at.ids[end] != id) return;                                            // no run goes on
  if (begin > 0 && at.ids[begin - 1] == id && at.ids[begin] == id) return;  // it began before
  int last = p;  // the run's last piece: of the others it has the first token
  for (int found = kThreads; found == kThreads; last += found) {
    const int q = last + 1 + threadIdx.x;
    found = __syncthreads_count(q < pieces && at.ids[q * at.piece] == id);
  }
  const int lane = threadIdx.x % kWarp, share = threadIdx.x / kWarp;
  for (int tile = blockIdx.y * kWarp; tile < at.columns; tile += gridDim.y * kWarp) {
    const int column = tile + lane;
    float sum = 0;
    if (column < at.columns) {
#pragma unroll 8
      for (int q = p + share; q <= last; q += kShares)
        sum += (q == p ? at.goes_on(q) : at.came_in(q))[column];
    }
    __syncthreads();  // all have read what the tile before left here
    shared[share][lane] = sum;
    __syncthreads();
    if (share > 0 || column >= at.columns) continue;
    float total = 0;
#pragma unroll
    for (int s = 0; s < kShares; ++s) total += shared[s][lane];
    G& element = dtable[std::int64_t{id} * at.columns + column];
    element = from_float<G>(to_float(element) + total);
  }
}

/// Gives out parts of the workspace.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <class T>
  T* take(std::int64_t count) {
    T* part = reinterpret_cast<T*>(memory_ + taken_);
    taken_ += ceil_div(count * static_cast<std::int64_t>(sizeof(T)), 256) * 256;
    return part;
  }
  std::int64_t left() const { return static_cast<std::int64_t>(Workspace::kBytes) - taken_; }

 private:
  std::byte* memory_;
  std::int64_t taken_ = 0;
};

/// Sorts the ids, and finds the size of pieces whose partial sums the workspace can hold.
Sorted sort(Context& context, const Tensor& ids, std::int64_t vocabulary, std::int64_t columns) {
  const cudaStream_t stream = tandem::cuda::stream_of(context.compute());
  Parts parts(tandem::cuda::device_of(context).part<Workspace>().data());
  const auto count = static_cast<int>(ids.numel());
  const auto* unsorted = reinterpret_cast<const std::uint32_t*>(ids.as<std::int32_t>());
  auto *numbers = parts.take<std::uint32_t>(count), *sorted_ids = parts.take<std::uint32_t>(count),
       *tokens = parts.take<std::uint32_t>(count);
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(vocabulary - 1))));
  std::size_t bytes = 0;
  const auto radix_sort = [&](void* memory) {
    TANDEM_CUDA(cub::DeviceRadixSort::SortPairs(memory, bytes, unsorted, sorted_ids, numbers, tokens, count,
                                                0, bits, stream));
  };
  radix_sort(nullptr);  // asks for the bytes
  auto* memory = parts.take<std::byte>(static_cast<std::int64_t>(bytes));
  Sorted sorted{sorted_ids, tokens, count, kLeastPiece, nullptr, static_cast<int>(columns)};
  const auto needed = [&] {
    return std::int64_t{sorted.pieces()} * 2 * columns * std::int64_t{sizeof(float)};
  };
  while (needed() > parts.left() && sorted.piece < kMostPiece) sorted.piece *= 2;
  require(needed() <= parts.left(),
          "the gradient of {} embedded tokens of width {} does not fit into a GPU's "
          "workspace of {} bytes: choose a smaller --batch",
          count, columns, Workspace::kBytes);
  sorted.partial = parts.take<float>(needed() / static_cast<std::int64_t>(sizeof(float)));
  count_kernel<<<static_cast<unsigned>(ceil_div(count, kThreads)), kThreads, 0, stream>>>(numbers, count);
  TANDEM_CUDA(cudaGetLastError());
  radix_sort(memory);
  return sorted;
}

}  // namespace

void embedding_backward_table(Context& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable,
                              Write write) {
  const cudaStream_t stream = tandem::cuda::stream_of(context.compute());
  if (write == Write::assign)
    TANDEM_CUDA(cudaMemsetAsync(dtable.data(), 0, static_cast<std::size_t>(dtable.bytes()), stream));
  if (dy.numel() == 0) return;
  const std::int64_t columns = dy.last();
  const Sorted sorted = sort(context, ids, dtable.rows(), columns);
  const auto pieces = static_cast<unsigned>(sorted.pieces());
  const auto tiles = static_cast<unsigned>(std::min<std::int64_t>(ceil_div(columns, kWarp), kMostTiles));
  visit_gradient(dy.dtype(), dtable.dtype(), [&](auto value, auto gradient) {
    using T = decltype(value);
    using G = decltype(gradient);
    auto* table = static_cast<G*>(dtable.data());
    visit_vectors<kN>(columns % kN == 0 && aligned(dy.data(), dtable.data()), [&](auto n) {
      constexpr int N = decltype(n)::value;
      pieces_kernel<N, T, G><<<pieces, threads_for(ceil_div(columns, N), kThreads), 0, stream>>>(
          sorted, static_cast<const T*>(dy.data()), table);
    });
    TANDEM_CUDA(cudaGetLastError());
    runs_kernel<G><<<dim3(pieces, tiles), kThreads, 0, stream>>>(sorted, table);
    TANDEM_CUDA(cudaGetLastError());
  });
}

}  // namespace tandem::ops::cuda
