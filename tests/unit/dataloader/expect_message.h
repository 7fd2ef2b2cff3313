#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {

/// Expects that `f` throws an `E` whose message is one line, holds all `parts`, and ends a program with exit
/// code 2.
template <class E, class F>
void expect_message(F&& f, const std::vector<std::string>& parts) {
  try {
    f();
  } catch (const E& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw another type: " << error.what();
    return;
  }
  ADD_FAILURE() << "did not throw; expected '" << (parts.empty() ? "" : parts.front()) << "'";
}

}  // namespace tandem
