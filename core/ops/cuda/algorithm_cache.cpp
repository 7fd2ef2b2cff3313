#include "core/ops/cuda/algorithm_cache.h"

#include <charconv>
#include <cuda_runtime_api.h>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/device/cuda/cuda_check.h"

namespace tandem::ops::cuda {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDigits = 16;  // of a word in hexadecimal

std::string name_of_this_gpu() {
  int index = 0;
  cudaDeviceProp properties{};
  TANDEM_CUDA(cudaGetDevice(&index));
  TANDEM_CUDA(cudaGetDeviceProperties(&properties, index));
  return properties.name;
}

std::string hex_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::string hex;
  for (const auto word : algorithm.data) hex += fmt::format("{:0{}x}", word, kDigits);
  return hex;
}

cublasLtMatmulAlgo_t algorithm_of(std::string_view hex) {
  cublasLtMatmulAlgo_t algorithm{};
  if (hex.size() != std::size(algorithm.data) * kDigits)
    throw DataError("an algorithm of {} hexadecimal digits", hex.size());
  for (auto& word : algorithm.data) {
    const char* const end = hex.data() + kDigits;
    if (std::from_chars(hex.data(), end, word, 16).ptr != end)
      throw DataError("an algorithm that is not hexadecimal: {}", hex.substr(0, kDigits));
    hex.remove_prefix(kDigits);
  }
  return algorithm;
}

}  // namespace

AlgorithmCache::AlgorithmCache() : device_(name_of_this_gpu()), version_(cublasLtGetVersion()) {}

const AlgorithmCache::Choice* AlgorithmCache::find(const std::string& product) const {
  const auto found = choices_.find(product);
  return found == choices_.end() ? nullptr : &found->second;
}

void AlgorithmCache::keep(const std::string& product, const Choice& choice) {
  choices_.insert_or_assign(product, choice);
}

std::string AlgorithmCache::text() const {
  std::string text;
  for (const auto& [product, choice] : choices_) {
    const Json line{{"product", product},
                    {"us", choice.us},
                    {"device", device_},
                    {"cublaslt", version_},
                    {"algorithm", hex_of(choice.algorithm)}};
    text += line.dump() + '\n';
  }
  return text;
}

void AlgorithmCache::add(const std::string& text) {
  std::map<std::string, Choice> added;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      if (json.at("device") != device_ || json.at("cublaslt") != version_) continue;
      added[json.at("product").get<std::string>()] = {algorithm_of(json.at("algorithm").get<std::string>()),
                                                      json.at("us").get<double>()};
    } catch (const std::exception& error) {  // of the JSON library, or DataError from above
      throw DataError(
          "line {} of the chosen algorithms cannot be read: {}; delete them to have them chosen anew", number,
          error.what());
    }
  }
  for (const auto& [product, choice] : added) keep(product, choice);
}

}  // namespace tandem::ops::cuda
