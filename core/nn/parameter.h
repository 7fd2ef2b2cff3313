#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// How a parameter starts. Values are drawn from Philox keyed by (seed, parameter name), so they do not
/// depend on the order of parameters, on the number of ranks or on buckets.
struct Init {
  enum class Kind { zeros, ones, normal, uniform } kind = Kind::zeros;
  double scale = 0;  ///< normal: the standard deviation; uniform: drawn from [-scale, scale)

  static Init zeros() { return {Kind::zeros, 0}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init normal(double stddev) { return {Kind::normal, stddev}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
};

/// The part of an unsplit tensor that this rank holds (tensor parallelism; a whole tensor has count 1).
struct Shard {
  int dim = 0, index = 0, count = 1;
};

struct Parameter;

/// Says when a parameter's value may be read, where it arrives while forward is already at work (ZeRO's
/// all-gather).
class ValueGate {
 public:
  virtual ~ValueGate() = default;
  /// Makes the compute stream wait until the parameter's value is there.
  virtual void await(const Parameter& parameter) = 0;
};

/// A learnable tensor: what optimizers, DDP and checkpoints see of a model. `value` and `grad` are views that
/// ParameterStore::allocate() binds; until then they are empty. Modules own their parameters; addresses must
/// stay put.
struct Parameter {
  Parameter() = default;
  Parameter(std::string name_, Shape shape_, Init init_, bool decay_, DType dtype_ = DType::f32)
      : name(std::move(name_)), shape(shape_), dtype(dtype_), init(init_), decay(decay_) {}
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;
  Parameter(Parameter&&) = default;

  std::string name;  ///< unique within a model: "block.3.attn.qkv.weight"
  Shape shape;
  DType dtype = DType::f32;
  Init init;
  bool decay = true;      ///< false for norms and biases: AdamW and SGD leave them out of weight decay
  double lr_scale = 1.0;  ///< multiplies the learning rate
  bool frozen = false;    ///< has no gradient, is not updated, lies in no bucket
  int uses = 1;           ///< how often one backward pass writes its gradient (a tied head: 2)
  Shard shard;

  Tensor value, grad;
  ValueGate* gate = nullptr;  ///< what read() asks; null where the value is always there

  /// The value, for forward: what the compute stream is given from here on sees all of it. Backward, which
  /// follows a forward, takes `value`.
  const Tensor& read() const {
    if (gate) gate->await(*this);
    return value;
  }

  std::int64_t numel() const { return shape.numel(); }

  /// How the next gradient contribution is to be written: the first since start_accumulation() assigns, later
  /// ones add.
  Write next_grad_write() { return grad_written_++ == 0 ? Write::assign : Write::add; }
  bool grad_written() const { return grad_written_ > 0; }
  /// An optimizer step begins: the gradient counts as zero without being cleared.
  void start_accumulation() { grad_written_ = 0; }

 private:
  int grad_written_ = 0;
};

using ParameterList = std::vector<Parameter*>;

/// Called by backward; implemented by DDP's Reducer.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// One use's last write to the parameter's gradient has been put on the compute stream. The `uses`-th call
  /// makes it final.
  virtual void ready(Parameter& parameter) = 0;
};

/// For training without DDP and for tests.
class IgnoreGradients final : public GradientSink {
 public:
  void ready(Parameter&) override {}
};

}  // namespace tandem
