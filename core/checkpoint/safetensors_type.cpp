#include "core/checkpoint/safetensors_type.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace tandem {

namespace {

constexpr std::array<SafetensorsType, 15> kTypes = {{{"F32", 4, DType::f32},
                                                     {"BF16", 2, DType::bf16},
                                                     {"F16", 2, DType::f16},
                                                     {"F64", 8, DType::f64},
                                                     {"I64", 8, DType::i64},
                                                     {"I32", 4, DType::i32},
                                                     {"U8", 1, DType::u8},
                                                     {"BOOL", 1, {}},
                                                     {"I8", 1, {}},
                                                     {"I16", 2, {}},
                                                     {"U16", 2, {}},
                                                     {"U32", 4, {}},
                                                     {"U64", 8, {}},
                                                     {"F8_E4M3", 1, {}},
                                                     {"F8_E5M2", 1, {}}}};

}  // namespace

const SafetensorsType* find_safetensors_type(std::string_view name) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

const SafetensorsType& safetensors_type_of(DType dtype) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.dtype == dtype; });
  require(found != kTypes.end(), "safetensors files have no type for {}", name_of(dtype));
  return *found;
}

}  // namespace tandem
