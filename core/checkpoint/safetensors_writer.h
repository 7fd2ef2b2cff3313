#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/atomic_file.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// A tensor that is going to be stored.
struct NamedSpec {
  std::string name;
  TensorSpec spec;
};

/// Writes a safetensors file tensor by tensor, so that no second copy of a model is needed. The file appears
/// when it is complete (see AtomicFile).
class SafetensorsWriter {
 public:
  /// Writes the header: the tensors in the order in which append() gets them. Names are unique
  /// (ContractError). `metadata`: texts by name; PyTorch's readers expect { format: pt }.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<NamedSpec> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// The values of the next tensor, in host memory; dtype and size are as announced (ContractError). Throws
  /// DeviceError.
  void append(const Tensor& values);
  /// After the last tensor: the file is on the disk under its name. Throws DeviceError, and ContractError if
  /// a tensor is missing.
  void commit();

 private:
  std::vector<NamedSpec> tensors_;
  std::size_t next_ = 0;
  AtomicFile file_;
};

}  // namespace tandem
