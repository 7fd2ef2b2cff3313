#pragma once

#include <exception>
#include <optional>

#include "core/comm/world.h"

namespace tandem {

/// Does what may go wrong on any rank before training, and lets all ranks agree on the outcome: returns
/// `prepare()` where it worked on all; else every rank throws the same AgreedError. Collective.
template <class Prepare>
auto agreed(World& world, Context& context, Prepare&& prepare) -> decltype(prepare()) {
  std::optional<decltype(prepare())> result;
  std::exception_ptr error;
  try {
    result.emplace(prepare());
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  if (!error) {
    world.agree(nullptr, context);
    return std::move(*result);
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    world.agree(&e, context);
  }
  throw ContractError("agree() returned although this rank brought an error");
}

}  // namespace tandem
