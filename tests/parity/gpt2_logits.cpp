// gpt2_logits WEIGHTS TOKENS OUT LAYERS WIDTH HEADS VOCABULARY SEQUENCE: what a GPT with these weights (as
// train --init takes them) makes of one sequence. TOKENS: raw uint16, at most SEQUENCE of them. OUT: f32
// [tokens, VOCABULARY]. Computes on the CPU. For gpt2_parity.py, which compares with transformers.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/weights/weights_file.h"
#include "tests/support/planned_model.h"

namespace tandem {
namespace {

std::vector<std::int32_t> read_tokens(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    tokens.push_back(static_cast<unsigned char>(bytes[i]) | static_cast<unsigned char>(bytes[i + 1]) << 8);
  if (tokens.empty()) throw DataError("{}: no tokens", path);
  return tokens;
}

void run(char** arguments) {
  const auto number = [&](int i) { return std::atoll(arguments[i]); };
  const ModelConfig config{"gpt2", GptConfig{number(4), number(5), number(6), number(7), number(8)}};
  const WeightsFile weights(arguments[1], config);
  std::vector<std::int32_t> tokens = read_tokens(arguments[2]);

  const auto gpt = make_model(config);
  PlannedModel model(*gpt, {DType::i32, {1, std::ssize(tokens)}});
  weights.load(model.context(), model.store());
  const Tensor logits = model.forward(Tensor::of(tokens.data(), {1, std::ssize(tokens)}));
  std::ofstream out(arguments[3], std::ios::binary);
  for (std::int64_t t = 0; t < std::ssize(tokens); ++t)
    out.write(reinterpret_cast<const char*>(logits.as<float>() + t * logits.last()),
              config.gpt().vocabulary * static_cast<std::streamsize>(sizeof(float)));
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  if (argc != 9) {
    fmt::print(stderr, "usage: gpt2_logits WEIGHTS TOKENS OUT LAYERS WIDTH HEADS VOCABULARY SEQUENCE\n");
    return 2;
  }
  try {
    tandem::run(argv);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpt2_logits: {}\n", error.what());
    return 1;
  }
}
