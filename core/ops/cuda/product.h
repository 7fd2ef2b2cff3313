#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/dtype.h"
#include "core/device/context.h"

namespace tandem::ops::cuda {

/// What is done to a product's sums before they are stored. GELU is cuBLASLt's, the tanh approximation.
enum class Epilogue : std::uint8_t {
  none,
  bias,           ///< + bias [cols]
  gelu_aux,       ///< aux = the sum, result = gelu(sum)
  gelu_aux_bias,  ///< aux = the sum + bias, result = gelu(sum + bias)
  dgelu           ///< · gelu′(aux)
};

inline bool has_bias(Epilogue e) {
  return e == Epilogue::bias || e == Epilogue::gelu_aux_bias;
}
inline bool has_aux(Epilogue e) {
  return e == Epilogue::gelu_aux || e == Epilogue::gelu_aux_bias || e == Epilogue::dgelu;
}

/// A product of row-major matrices, summed in float:
/// result [rows, cols] = epilogue(left [rows, inner] · right [inner, cols] + added [rows, cols]).
struct Product {
  std::int64_t rows = 0, cols = 0, inner = 0;
  bool left_transposed = false;   ///< `left` lies in memory as [inner, rows]
  bool right_transposed = false;  ///< `right` lies in memory as [cols, inner]
  DType operands = DType::f32;    ///< of left and right
  DType result = DType::f32;      ///< of all else: that of the operands, or f32
  Epilogue epilogue = Epilogue::none;
  bool adds = false;  ///< there is an `added`

  bool operator==(const Product&) const = default;
};

/// The memory of a product; null where it has none. `added` may be `result`; otherwise `result` and a written
/// `aux` overlap nothing.
struct Operands {
  const void* left = nullptr;
  const void* right = nullptr;
  const void* added = nullptr;
  const void* bias = nullptr;
  void* aux = nullptr;  ///< [rows, cols]; dgelu reads it
  void* result = nullptr;
};

/// All that the choice of an algorithm depends on.
struct ProductKey {
  Product product;
  bool tf32 = false;
  /// Bytes that each address is a multiple of, up to 16.
  struct Alignments {
    std::uint8_t left, right, added, bias, aux, result;
    bool operator==(const Alignments&) const = default;
  } alignments{};

  bool operator==(const ProductKey&) const = default;
  std::string text() const;
  struct Hash {
    std::size_t operator()(const ProductKey& key) const;
  };
};

/// The key of a product on the context's GPU.
ProductKey key_of(const Context& context, const Product& product, const Operands& operands);

}  // namespace tandem::ops::cuda
