#include "core/ops/cuda/matmul.h"

#include <algorithm>
#include <array>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/algorithm_timer.h"
#include "core/ops/cuda/cublas_check.h"
#include "core/ops/cuda/workspace.h"

namespace tandem::ops::cuda {

/// What cublasLtMatmul is called with, beside addresses. Stays where it was made: its parts are the
/// library's.
struct Matmul::Plan {
  explicit Plan(const ProductKey& key);

  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatrixLayoutOpaque_t a{}, b{}, d{};  // C lies as D does
  bool adds, has_bias, has_aux;
  bool offered = false;  // there is an algorithm
  cublasLtMatmulAlgo_t algorithm{};
};

namespace {

constexpr std::size_t kScratchBytes = Workspace::kBytes / 2;
constexpr int kCandidates = 8;
// Timing is not exact: a candidate must win by this to replace the library's first.
constexpr double kClearlyFaster = 0.99;

constexpr std::array kEpilogues{CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,
                                CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU};

cudaDataType type_of(DType dtype) {
  if (dtype == DType::f32) return CUDA_R_32F;
  if (dtype == DType::bf16) return CUDA_R_16BF;
  if (dtype == DType::f16) return CUDA_R_16F;
  throw ContractError("a GPU multiplies matrices of f32, bf16 and f16, not of {}", name_of(dtype));
}

// cuBLASLt's own conditions on the auxiliary matrix; and in f32 its GELU is an approximation of fewer bits
// than f32 has.
bool may_fuse(const ProductKey& key) {
  if (!has_aux(key.product.epilogue)) return true;
  return key.product.operands != DType::f32 && key.product.cols % 8 == 0 && key.alignments.aux == 16;
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TANDEM_CUBLAS(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof(T)));
}

template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  TANDEM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof(T)));
}

/// A dense row-major matrix, which cuBLASLt sees as the column-major [cols, rows].
void set(cublasLtMatrixLayoutOpaque_t& layout, DType dtype, std::int64_t rows, std::int64_t cols) {
  TANDEM_CUBLAS(cublasLtMatrixLayoutInit(&layout, type_of(dtype), static_cast<std::uint64_t>(cols),
                                         static_cast<std::uint64_t>(rows), cols));
}

/// The address of which the heuristic shall think: it looks at the alignment only.
const void* stand_in(std::uint8_t alignment) {
  return reinterpret_cast<const void*>(std::uintptr_t{alignment});
}

cublasLtMatmulPreferenceOpaque_t preference_of(const ProductKey& key) {
  cublasLtMatmulPreferenceOpaque_t preference{};
  TANDEM_CUBLAS(cublasLtMatmulPreferenceInit(&preference));
  const auto& aligned = key.alignments;
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kScratchBytes});
  // Where a sum is split, its parts are added in float, never in the 16 bits of the result.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{aligned.right});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{aligned.left});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
      std::uint32_t{key.product.adds ? aligned.added : aligned.result});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{aligned.result});
  return preference;
}

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  TANDEM_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

struct DeviceFree {
  void operator()(void* memory) const { cudaFree(memory); }
};

/// Null where there is no such memory.
std::unique_ptr<void, DeviceFree> temporary(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) cudaGetLastError();  // told by the null
  return std::unique_ptr<void, DeviceFree>(memory);
}

}  // namespace

/// Row-major matrices are column-major transposes: resultᵀ = rightᵀ · leftᵀ. So cuBLASLt's A is `right` with
/// its m = cols, its B is `left` with its n = rows, and a bias along its m runs along the columns.
Matmul::Plan::Plan(const ProductKey& key)
    : adds(key.product.adds),
      has_bias(cuda::has_bias(key.product.epilogue)),
      has_aux(cuda::has_aux(key.product.epilogue)) {
  const Product& p = key.product;
  TANDEM_CUBLAS(cublasLtMatmulDescInit(
      &operation, key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{p.right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{p.left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
      static_cast<std::uint32_t>(kEpilogues[static_cast<std::size_t>(p.epilogue)]));
  if (has_bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, stand_in(key.alignments.bias));
  if (has_aux) {
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, stand_in(key.alignments.aux));
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.cols);
  }
  if (p.right_transposed) set(a, p.operands, p.cols, p.inner);
  if (!p.right_transposed) set(a, p.operands, p.inner, p.cols);
  if (p.left_transposed) set(b, p.operands, p.inner, p.rows);
  if (!p.left_transposed) set(b, p.operands, p.rows, p.inner);
  set(d, p.result, p.rows, p.cols);
}

Matmul::Matmul() {
  TANDEM_CUBLAS(cublasLtCreate(&handle_));
}

Matmul::~Matmul() {
  cublasLtDestroy(handle_);
}

void Matmul::set_tuning(Tuning tuning) {
  tuning_ = tuning;
  plans_.clear();
}

void Matmul::use_algorithms(const std::string& text) {
  algorithms_.add(text);
  plans_.clear();
}

bool Matmul::run(Context& context, const Product& product, const Operands& operands) {
  if (product.rows == 0 || product.cols == 0) return true;
  const ProductKey key = key_of(context, product, operands);
  if (!may_fuse(key)) return false;
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.emplace(key, make_plan(context, key, operands)).first;
  Plan& plan = *found->second;
  if (!plan.offered) return false;
  const cublasStatus_t status = launch(context, plan, plan.algorithm, operands);
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError("cublasLtMatmul failed for the product {}: {}", key.text(),
                      cublasLtGetStatusString(status));
  return true;
}

std::unique_ptr<Matmul::Plan> Matmul::make_plan(Context& context, const ProductKey& key,
                                                const Operands& operands) {
  auto plan = std::make_unique<Plan>(key);
  const AlgorithmCache::Choice* kept = algorithms_.find(key.text());
  if (kept && accepts(*plan, kept->algorithm)) {
    plan->algorithm = kept->algorithm;
    plan->offered = true;
    return plan;
  }
  std::vector<cublasLtMatmulAlgo_t> found = candidates(*plan, key);
  plan->offered = !found.empty();
  if (!plan->offered) {
    if (key.product.epilogue == Epilogue::none)
      throw DeviceError(
          "cuBLASLt {} has no kernel for the product {} on this GPU; choose another dtype or a newer CUDA "
          "Toolkit",
          cublasLtGetVersion(), key.text());
    return plan;
  }
  plan->algorithm = found.front();
  if (tuning_ == Tuning::on && !capturing(tandem::cuda::stream_of(context.compute())))
    tune(context, *plan, key, operands, std::move(found));
  return plan;
}

std::vector<cublasLtMatmulAlgo_t> Matmul::candidates(Plan& plan, const ProductKey& key) const {
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
  cublasLtMatmulPreferenceOpaque_t preference = preference_of(key);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, &plan.operation, &plan.a, &plan.b, &plan.d, &plan.d,
                                     &preference, kCandidates, results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<cublasLtMatmulAlgo_t> found;
  for (int i = 0; i < count; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS) found.push_back(results[i].algo);
  return found;
}

bool Matmul::accepts(Plan& plan, const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle_, &plan.operation, &plan.a, &plan.b, &plan.d, &plan.d, &algorithm,
                                 &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= kScratchBytes;
}

// Runs write nothing but the result and a forward's `aux`, which the run that follows writes anyway. A sum in
// place alone would grow from run to run: its runs write to memory of their own, so that `added` stays what
// it was.
void Matmul::tune(Context& context, Plan& plan, const ProductKey& key, Operands operands,
                  std::vector<cublasLtMatmulAlgo_t> candidates) {
  const Product& p = key.product;
  std::unique_ptr<void, DeviceFree> result;
  if (p.adds && operands.added == operands.result) {
    result = temporary(static_cast<std::size_t>(p.rows * p.cols) * size_of(p.result));
    if (!result) return;  // the library's first it is
    operands.result = result.get();
  }
  std::erase_if(candidates, [&](const auto& algorithm) {  // the first run loads the kernel
    return launch(context, plan, algorithm, operands) != CUBLAS_STATUS_SUCCESS;
  });
  if (candidates.empty()) return;
  const std::vector<double> us = time_alternatives(
      tandem::cuda::stream_of(context.compute()), candidates.size(),
      [&](std::size_t i) { TANDEM_CUBLAS(launch(context, plan, candidates[i], operands)); });
  const auto fastest = static_cast<std::size_t>(std::min_element(us.begin(), us.end()) - us.begin());
  const std::size_t best = us[fastest] < kClearlyFaster * us[0] ? fastest : 0;
  plan.algorithm = candidates[best];
  algorithms_.keep(key.text(), {candidates[best], us[best]});
}

cublasStatus_t Matmul::launch(Context& context, Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                              const Operands& operands) const {
  if (plan.has_bias) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  if (plan.has_aux) set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
  const auto& workspace = tandem::cuda::device_of(context).part<Workspace>();
  std::byte* const scratch = static_cast<std::byte*>(workspace.data()) + Workspace::kBytes - kScratchBytes;
  const float one = 1, zero = 0;
  return cublasLtMatmul(handle_, &plan.operation, &one, operands.right, &plan.a, operands.left, &plan.b,
                        plan.adds ? &one : &zero, plan.adds ? operands.added : operands.result, &plan.d,
                        operands.result, &plan.d, &algorithm, scratch, kScratchBytes,
                        tandem::cuda::stream_of(context.compute()));
}

}  // namespace tandem::ops::cuda
