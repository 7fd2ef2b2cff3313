#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace tandem {

/// A tensor in a file, as the file describes it. Owns nothing: the bytes lie in a MappedFile.
struct StoredTensor {
  std::string name;
  std::string type;            ///< as the format calls it: "F32", "BF16", "BOOL"
  std::optional<DType> dtype;  ///< our name for it; empty where we have no such type
  Shape shape;
  std::span<const std::uint8_t> bytes;  ///< row-major, little-endian, at any address
};

/// Whether read_floats() takes it.
bool is_floating(const StoredTensor& tensor);

/// Gives `to` the elements from `first` on, in f32: F16 and BF16 exactly, F64 rounded to nearest.
/// Throws DataError for a tensor that is not of a floating type, ContractError beyond its end.
void read_floats(const StoredTensor& tensor, std::int64_t first, std::span<float> to);

}  // namespace tandem
