#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dataloader/dataset.h"
#include "dataloader/token_stream.h"

namespace tandem {

/// Windows of T tokens at stride T: sample w of a stream reads its tokens [w·T, w·T + T]; the first T are the
/// input, the last T (the next tokens) the target. A stream of n tokens has (n − 1) / T windows, and no
/// window crosses from one stream into the next. Reading costs no memory, however large the files.
class TokenWindows : public Dataset {
 public:
  /// `name` says in messages what the data is. Up to 256 MiB of the streams are searched for ids beyond the
  /// vocabulary at once, the rest when it is read. Throws DataError for such an id, and if there is not one
  /// window.
  TokenWindows(std::string name, std::vector<TokenStream> streams, std::int64_t sequence,
               std::int64_t vocabulary);

  std::int64_t size() const override { return last_window_.empty() ? 0 : last_window_.back(); }
  TensorSpec input() const override { return {DType::i32, {sequence_}}; }
  TensorSpec target() const override { return {DType::i32, {sequence_}}; }
  std::int64_t classes() const override { return vocabulary_; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override;
  std::string describe() const override;

 private:
  void check_ids();
  void note_read(std::int64_t bytes) const;

  std::string name_;
  std::vector<TokenStream> streams_;
  std::int64_t sequence_, vocabulary_;
  std::vector<std::int64_t> last_window_;          // per stream: windows in it and in those before it
  mutable std::atomic<std::int64_t> resident_{0};  // an upper bound of the bytes paged in
};

}  // namespace tandem
