#include "dataloader/data_spec.h"

#include <charconv>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "dataloader/idx_images.h"
#include "dataloader/synthetic.h"
#include "dataloader/token_files.h"
#include "dataloader/token_windows.h"

namespace tandem {

namespace {

using Kind = DataSpec::Kind;
using Opened = std::shared_ptr<const Dataset>;

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {{Kind::idx, "idx"},
                               {Kind::tokens, "tokens"},
                               {Kind::tokens_raw, "tokens-raw"},
                               {Kind::text, "text"},
                               {Kind::synthetic, "synthetic"}};
constexpr std::string_view kForms = "idx:DIR, tokens:GLOB, tokens-raw:PATH, text:PATH or synthetic[:N]";

std::string_view name_of(Kind kind) {
  for (const KindName& k : kKinds)
    if (k.kind == kind) return k.name;
  throw ContractError("a kind of data without a name");
}

Kind parse_kind(std::string_view name, std::string_view text) {
  for (const KindName& k : kKinds)
    if (k.name == name) return k.kind;
  throw UsageError("data '{}': no kind of data is called '{}': give {}", text, name, kForms);
}

std::int64_t parse_samples(std::string_view number, std::string_view text) {
  std::int64_t samples = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), samples);
  if (error != std::errc{} || end != number.data() + number.size() || samples < 1)
    throw UsageError("data '{}': '{}' is not a number of samples: give one from 1, as in synthetic:5000",
                     text, number);
  return samples;
}

ModelInput::Kind provides(Kind kind, const ModelInput& model) {
  if (kind == Kind::synthetic) return model.kind;  // made to measure
  return kind == Kind::idx ? ModelInput::Kind::features : ModelInput::Kind::tokens;
}

void check_kind(const DataSpec& spec, const ModelInput& model) {
  if (provides(spec.kind, model) == model.kind) return;
  if (spec.kind == Kind::idx)
    throw UsageError(
        "data '{}': images are not tokens, which this model reads: give --model mlp, or tokens:, "
        "tokens-raw:, text: or synthetic data",
        spec.str());
  throw UsageError(
      "data '{}': tokens are not features, which this model reads: give a gpt --model, or idx: or "
      "synthetic data",
      spec.str());
}

Opened open_idx(const DataSpec& spec, const std::string& split, const ModelInput& model) {
  auto images = std::make_shared<const IdxImages>(spec.path, split, model.classes);
  const std::int64_t values = images->input().shape.numel();
  if (values != model.features)
    throw DataError("{}: its images have {} values, but the model takes {}: let --mlp-sizes begin with {}",
                    spec.path, values, model.features, values);
  return images;
}

Opened open_synthetic(const DataSpec& spec, std::uint64_t split, const ModelInput& model) {
  if (model.kind == ModelInput::Kind::features)
    return std::make_shared<const SyntheticFeatures>(spec.samples, model.features, model.classes, split);
  return std::make_shared<const SyntheticTokens>(spec.samples, model.sequence, model.classes, split);
}

Opened windows(std::string name, std::vector<TokenStream> streams, const ModelInput& model) {
  return std::make_shared<const TokenWindows>(std::move(name), std::move(streams), model.sequence,
                                              model.classes);
}

Opened windows(std::string name, TokenStream stream, const ModelInput& model) {
  return windows(std::move(name), std::vector<TokenStream>{std::move(stream)}, model);
}

// A text without validation data of its own.
DataSets split_text(const DataSpec& spec, const ModelInput& model) {
  TokenStream text = open_text(spec.path);
  const std::int64_t first_held_back = text.size() - (text.size() + 9) / 10;
  const std::int64_t held_back = text.size() - first_held_back;
  if (held_back <= model.sequence) return {windows(spec.str(), std::move(text), model), nullptr};
  return {windows(spec.str() + " without its last tenth", text.slice(0, first_held_back), model),
          windows("the last tenth of " + spec.str(), text.slice(first_held_back, held_back), model)};
}

// Split 0 is for training, 1 for validation.
Opened open_one(const DataSpec& spec, std::uint64_t split, const ModelInput& model) {
  switch (spec.kind) {
    case Kind::idx:
      return open_idx(spec, split == 0 ? "train" : "t10k", model);
    case Kind::tokens:
      return windows(spec.str(), open_token_shards(spec.path), model);
    case Kind::tokens_raw:
      return windows(spec.str(), open_raw_tokens(spec.path), model);
    case Kind::text:
      return windows(spec.str(), open_text(spec.path), model);
    case Kind::synthetic:
      return open_synthetic(spec, split, model);
  }
  throw ContractError("an unknown kind of data");
}

}  // namespace

DataSpec DataSpec::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_path = colon != std::string_view::npos;
  DataSpec spec;
  spec.kind = parse_kind(text.substr(0, colon), text);
  const std::string_view path = has_path ? text.substr(colon + 1) : std::string_view{};
  if (spec.kind == Kind::synthetic) {
    if (has_path) spec.samples = parse_samples(path, text);
    return spec;
  }
  if (path.empty()) throw UsageError("data '{}': the path is missing: give {}", text, kForms);
  spec.path = path;
  return spec;
}

std::string DataSpec::str() const {
  return kind == Kind::synthetic ? fmt::format("synthetic:{}", samples)
                                 : fmt::format("{}:{}", name_of(kind), path);
}

DataSets open_data(const DataSpec& train, const std::optional<DataSpec>& validation,
                   const ModelInput& model) {
  check_kind(train, model);
  if (validation) check_kind(*validation, model);
  if (!validation && train.kind == Kind::text) return split_text(train, model);
  DataSets sets{open_one(train, 0, model), nullptr};
  if (validation)
    sets.validation = open_one(*validation, 1, model);
  else if (train.kind == Kind::idx && IdxImages::exist(train.path, "t10k"))
    sets.validation = open_one(train, 1, model);
  return sets;
}

}  // namespace tandem
