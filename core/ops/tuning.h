#pragma once

#include <map>
#include <string>

#include "core/device/context.h"

namespace tandem::ops {

// A GPU's library offers several algorithms for a matrix product and guesses which is fastest. Timing them
// finds out; but then two runs, or two ranks, may find different ones and differ in the last bits. So one
// rank times, and what it chose is text that the others, or a later run, take over. The CPU backend has one
// algorithm: there these functions do nothing.

enum class Tuning { off, on };

/// With `on`, a product without a chosen algorithm is timed when it first runs (about 0.2 s each, once; not
/// if that is while a graph is captured). Its result is not affected. Off at first: the library's guess is
/// taken.
void set_tuning(Context& context, Tuning tuning);

/// What was chosen by timing, or taken over: one line of JSON for each product, sorted.
std::string tuned_algorithms(const Context& context);

/// Takes over what tuned_algorithms() gave. Lines of another kind of GPU or another version of the library
/// are passed over. Graphs captured before keep what they have. Throws DataError if the text is not of that
/// form.
void use_algorithms(Context& context, const std::string& text);

/// The libraries that the device's operations call, by name: {"cublaslt", "13.1.0"}, …; empty on the CPU.
std::map<std::string, std::string> library_versions(const Context& context);

}  // namespace tandem::ops
