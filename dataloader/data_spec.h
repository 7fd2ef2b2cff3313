#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dataloader/dataset.h"

namespace tandem {

/// What `--data` and `--val-data` name: `idx:DIR`, `tokens:GLOB`, `tokens-raw:PATH`, `text:PATH` or
/// `synthetic[:N]`.
struct DataSpec {
  enum class Kind { idx, tokens, tokens_raw, text, synthetic };

  Kind kind = Kind::synthetic;
  std::string path;                ///< of all kinds but synthetic; relative to the working directory
  std::int64_t samples = 100'000;  ///< of synthetic data

  /// Throws UsageError for an unknown kind, a missing path or an N that is not a number ≥ 1.
  static DataSpec parse(std::string_view text);
  /// As it is parsed.
  std::string str() const;
};

/// What the model takes in and tells apart.
struct ModelInput {
  enum class Kind { features, tokens };

  Kind kind = Kind::tokens;
  std::int64_t features = 0;  ///< values of a sample (kind features)
  std::int64_t sequence = 0;  ///< T (kind tokens)
  std::int64_t classes = 0;   ///< classes, or the vocabulary
};

struct DataSets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  ///< null where there is none
};

/// Opens the data to train on and, for validation, `validation`'s; without one: the t10k files of an idx
/// folder (if it has them), the last tenth of a text (if it makes a window; training then leaves it out),
/// nothing for the other kinds. Throws UsageError if the model cannot take that kind of data, and DataError,
/// naming the file, for data that is missing, damaged, too little for one sample, or beyond the model's
/// sizes.
DataSets open_data(const DataSpec& train, const std::optional<DataSpec>& validation, const ModelInput& model);

}  // namespace tandem
