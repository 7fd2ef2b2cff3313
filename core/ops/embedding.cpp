#include "core/ops/embedding.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

/// ids [B, T] and rows [B, T, C].
void check_tokens(const Tensor& ids, const Tensor& rows) {
  require(ids.shape().rank() == 2 && rows.shape() == Shape{ids.shape()[0], ids.shape()[1], rows.last()},
          "embedding: ids {} and rows {} do not fit", ids.shape().str(), rows.shape().str());
}

void check_table(const Tensor& table, std::int64_t width) {
  require(table.shape().rank() == 2 && table.last() == width, "embedding: table {} for a width of {}",
          table.shape().str(), width);
}

void check_positions(const Tensor& positions, std::int64_t width, std::int64_t sequence) {
  check_table(positions, width);
  require(positions.rows() >= sequence, "embedding: {} positions for a sequence of {}", positions.rows(),
          sequence);
}

}  // namespace

void embedding_forward(Context& context, const Tensor& ids, const Tensor& table, const Tensor& positions,
                       const Tensor& y) {
  check_tokens(ids, y);
  check_table(table, y.last());
  check_positions(positions, y.last(), ids.last());
  table_of(context).embedding_forward(context, ids, table, positions, y);
}

void embedding_backward_table(Context& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable,
                              Write write) {
  check_tokens(ids, dy);
  check_table(dtable, dy.last());
  table_of(context).embedding_backward_table(context, ids, dy, dtable, write);
}

void embedding_backward_positions(Context& context, const Tensor& dy, const Tensor& dpositions, Write write) {
  require(dy.shape().rank() == 3, "embedding: gradient {}", dy.shape().str());
  check_positions(dpositions, dy.last(), dy.shape()[1]);
  table_of(context).embedding_backward_positions(context, dy, dpositions, write);
}

}  // namespace tandem::ops
