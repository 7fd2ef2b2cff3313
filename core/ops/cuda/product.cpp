#include "core/ops/cuda/product.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/device/cuda/cuda_device.h"

namespace tandem::ops::cuda {

namespace {

constexpr std::array kEpilogueNames{"", " bias", " gelu_aux", " gelu_aux_bias", " dgelu"};

// No kernel asks for more than 16 bytes. Telling finer would let a choice, and so the last bits of a
// gradient, depend on where in its bucket a parameter happens to lie.
std::uint8_t alignment_of(const void* address) {
  return static_cast<std::uint8_t>(
      1 << std::min(std::countr_zero(reinterpret_cast<std::uintptr_t>(address)), 4));
}

}  // namespace

ProductKey key_of(const Context& context, const Product& product, const Operands& operands) {
  return {.product = product,
          .tf32 = product.operands == DType::f32 && tandem::cuda::device_of(context).tf32(),
          .alignments = {.left = alignment_of(operands.left),
                         .right = alignment_of(operands.right),
                         .added = alignment_of(product.adds ? operands.added : nullptr),
                         .bias = alignment_of(has_bias(product.epilogue) ? operands.bias : nullptr),
                         .aux = alignment_of(has_aux(product.epilogue) ? operands.aux : nullptr),
                         .result = alignment_of(operands.result)}};
}

std::string ProductKey::text() const {
  const Product& p = product;
  const auto& a = alignments;
  return fmt::format("{}{} {}x{}x{} {}{}->{}{}{} aligned {},{},{},{},{},{}", p.left_transposed ? 't' : 'n',
                     p.right_transposed ? 't' : 'n', p.rows, p.cols, p.inner, name_of(p.operands),
                     tf32 ? "(tf32)" : "", name_of(p.result),
                     kEpilogueNames[static_cast<std::size_t>(p.epilogue)], p.adds ? " adds" : "", a.left,
                     a.right, a.added, a.bias, a.aux, a.result);
}

std::size_t ProductKey::Hash::operator()(const ProductKey& key) const {
  const Product& p = key.product;
  const auto& a = key.alignments;
  std::uint64_t hash = 0;
  const auto mix = [&](auto value) {  // multiplied by 2⁶⁴/φ, the high bits brought down
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(p.rows), mix(p.cols), mix(p.inner);
  for (const int byte : {int{p.left_transposed}, int{p.right_transposed}, static_cast<int>(p.operands),
                         static_cast<int>(p.result), static_cast<int>(p.epilogue), int{p.adds}, int{key.tf32},
                         int{a.left}, int{a.right}, int{a.added}, int{a.bias}, int{a.aux}, int{a.result}})
    mix(byte);
  return hash;
}

}  // namespace tandem::ops::cuda
