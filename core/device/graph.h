#pragma once

#include <memory>

#include "core/device/stream.h"

namespace tandem {

/// What a backend implements of a Graph.
class GraphImpl {
 public:
  virtual ~GraphImpl() = default;
  virtual void launch(StreamImpl& stream) = 0;
};

/// Work of a GPU's streams, captured once by Context::capture() and replayed as a whole: one call of the host
/// for hundreds of kernels. It reads and writes the addresses that the captured work did, and holds what host
/// code decided then: host code does not run again.
class Graph {
 public:
  Graph() = default;
  explicit Graph(std::unique_ptr<GraphImpl> impl) : impl_(std::move(impl)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  void launch(Stream& stream) { impl_->launch(stream.impl()); }

 private:
  std::unique_ptr<GraphImpl> impl_;
};

}  // namespace tandem
