#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/checkpoint/stored_tensor.h"

namespace tandem {

/// A safetensors file, mapped into memory: 8 bytes of header length (little-endian), a JSON header
/// { name: { dtype, shape, data_offsets: [begin, end] } }, then the tensors' bytes.
/// Format: https://github.com/huggingface/safetensors#format
///
/// The constructor checks all of the header against the file before it hands out anything: a tensor's bytes
/// are as many as its type and shape say, tensors neither overlap nor leave holes, and together they are the
/// file.
class SafetensorsFile {
 public:
  /// Throws DataError, naming the file and, where it is one tensor's fault, the tensor.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// In the order of their bytes; they live as long as file().
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace tandem
