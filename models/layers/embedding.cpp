#include "models/layers/embedding.h"

#include "core/ops/embedding.h"

namespace tandem {

Embedding::Embedding(const std::string& table_name, const std::string& position_name, std::int64_t vocabulary,
                     std::int64_t sequence, std::int64_t width, Init init)
    : table_(table_name + ".weight", {vocabulary, width}, init, /*decay=*/true),
      positions_(position_name + ".weight", {sequence, width}, init, /*decay=*/true) {}

TensorSpec Embedding::plan(MemoryPlan& memory, const TensorSpec& input) {
  require(input.dtype == DType::i32 && input.shape.rank() == 2 && input.shape[1] <= positions_.shape[0],
          "an embedding of {} positions does not take ids of {} {}", positions_.shape[0],
          name_of(input.dtype), input.shape.str());
  y_ = memory.saved.allocate(table_.dtype, {input.shape[0], input.shape[1], table_.shape[1]});
  return y_.spec();
}

Tensor Embedding::forward(Context& context, const Tensor& ids) {
  ids_ = ids;
  ops::embedding_forward(context, ids, table_.read(), positions_.read(), y_);
  return y_;
}

Tensor Embedding::backward(Context& context, const Tensor& dy, GradientSink& sink) {
  if (!positions_.frozen) {
    ops::embedding_backward_positions(context, dy, positions_.grad, positions_.next_grad_write());
    sink.ready(positions_);
  }
  if (!table_.frozen) {
    ops::embedding_backward_table(context, ids_, dy, table_.grad, table_.next_grad_write());
    sink.ready(table_);
  }
  return {};
}

}  // namespace tandem
