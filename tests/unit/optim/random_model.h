#pragma once

#include <deque>
#include <string>

#include <fmt/format.h>

#include "core/base/philox.h"
#include "core/nn/parameter_store.h"

namespace tandem::testing {

/// Parameters of odd sizes, with everything an optimizer must respect: some without decay, some scaled, one
/// of several chunks, one frozen, one of size zero. Values and gradients are random, keyed by name.
struct RandomModel {
  explicit RandomModel(std::uint64_t seed, DType dtype = DType::f32) : random(seed) {
    const auto odd = [&] { return static_cast<std::int64_t>(1 + random() % 90); };
    for (int i = 0; i < 9; ++i) {
      const Shape shape = i == 6 ? Shape{211, 173} : Shape{odd(), odd()};
      Parameter& p = parameters.emplace_back(fmt::format("p{}", i), shape, Init::normal(1),
                                             /*decay=*/i % 2 == 0, dtype);
      if (i % 3 == 0) p.lr_scale = 0.25 * (i + 1);
    }
    parameters[4].frozen = true;
    parameters.emplace_back("empty", Shape{0, 7}, Init::zeros(), true, dtype);
  }

  ParameterList list() {
    ParameterList all;
    for (Parameter& p : parameters) all.push_back(&p);
    return all;
  }

  ParameterStore allocate(const Context& context, bool reversed = false) {
    ParameterList order = list();
    if (reversed) order = ParameterList(order.rbegin(), order.rend());
    auto store = ParameterStore::allocate(context, ParameterLayout::in_order(order), list());
    for (Parameter& p : parameters) fill(p.value, p.name + " value");
    return store;
  }

  void draw_grads(int step) {
    for (Parameter& p : parameters)
      if (!p.frozen) fill(p.grad, fmt::format("{} at {}", p.name, step));
  }

  static void fill(const Tensor& tensor, const std::string& key) {
    Philox numbers(7, std::hash<std::string>{}(key));
    visit_floating(tensor.dtype(), [&]<class T>(T) {
      for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.as<T>()[i] = static_cast<T>(numbers.normal());
    });
  }

  Philox random;
  std::deque<Parameter> parameters;  // addresses stay put
};

/// Element i as double, whatever the tensor holds.
inline double element(const Tensor& tensor, std::int64_t i) {
  return tensor.dtype() == DType::f64 ? tensor.as<double>()[i] : tensor.as<float>()[i];
}

}  // namespace tandem::testing
