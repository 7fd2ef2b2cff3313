#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/dtype.h"

namespace tandem {

/// An element type that safetensors files may hold.
struct SafetensorsType {
  std::string_view name;       ///< "F32"
  std::int64_t bytes;          ///< of one element
  std::optional<DType> dtype;  ///< ours; empty where we have no such type
};

/// Null for a name that the format does not have, or whose elements are not whole bytes.
const SafetensorsType* find_safetensors_type(std::string_view name);
const SafetensorsType& safetensors_type_of(DType dtype);

}  // namespace tandem
