#include "core/comm/nccl/nccl_communicator.h"

#include <utility>

#include "core/comm/device_communicator.h"
#include "core/comm/nccl/nccl_check.h"
#include "core/comm/reduce.h"
#include "core/device/cuda/cuda_stream.h"

namespace tandem {

namespace nccl {

namespace {

using cuda::stream_of;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    case DType::u8:
      return ncclUint8;
  }
  throw ContractError("NCCL has no type for {}", name_of(dtype));
}

ncclRedOp_t op_of(ReduceOp op) {
  return op == ReduceOp::sum ? ncclSum : op == ReduceOp::min ? ncclMin : ncclMax;
}

std::size_t count_of(const Tensor& buffer) {
  return static_cast<std::size_t>(buffer.numel());
}

/// Block `rank` of a buffer of `ranks` equal ones.
Tensor block_of(const Tensor& buffer, int rank, int ranks) {
  const std::int64_t block = buffer.numel() / ranks;
  return buffer.slice(rank * block, block);
}

}  // namespace

NcclCommunicator::NcclCommunicator(ncclComm_t comm, std::unique_ptr<Communicator> control,
                                   Stream& control_stream)
    : comm_(comm), control_(std::move(control)), control_stream_(control_stream) {}

NcclCommunicator::~NcclCommunicator() {
  if (comm_) ncclCommDestroy(comm_);
}

std::string NcclCommunicator::version() const {
  int version = 0;
  TANDEM_NCCL(ncclGetVersion(&version));
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

void NcclCommunicator::all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) {
  TANDEM_NCCL(ncclAllReduce(buffer.data(), buffer.data(), count_of(buffer), type_of(buffer.dtype()),
                            op_of(op), comm_, stream_of(stream)));
}

void NcclCommunicator::reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) {
  require_blocks(buffer, size());
  const Tensor own = block_of(buffer, rank(), size());
  TANDEM_NCCL(ncclReduceScatter(buffer.data(), own.data(), count_of(own), type_of(own.dtype()), op_of(op),
                                comm_, stream_of(stream)));
}

void NcclCommunicator::all_gather(const Tensor& buffer, Stream& stream) {
  require_blocks(buffer, size());
  const Tensor own = block_of(buffer, rank(), size());
  TANDEM_NCCL(ncclAllGather(own.data(), buffer.data(), count_of(own), type_of(own.dtype()), comm_,
                            stream_of(stream)));
}

void NcclCommunicator::broadcast(const Tensor& buffer, int root, Stream& stream) {
  require_peer(root, size());
  TANDEM_NCCL(ncclBroadcast(buffer.data(), buffer.data(), count_of(buffer), type_of(buffer.dtype()), root,
                            comm_, stream_of(stream)));
}

void NcclCommunicator::send(const Tensor& buffer, int to, Stream& stream) {
  require_peer(to, size());
  TANDEM_NCCL(
      ncclSend(buffer.data(), count_of(buffer), type_of(buffer.dtype()), to, comm_, stream_of(stream)));
}

void NcclCommunicator::recv(const Tensor& buffer, int from, Stream& stream) {
  require_peer(from, size());
  TANDEM_NCCL(
      ncclRecv(buffer.data(), count_of(buffer), type_of(buffer.dtype()), from, comm_, stream_of(stream)));
}

std::unique_ptr<Communicator> NcclCommunicator::split(int color, int key, Stream& stream) {
  stream.synchronize();
  auto control = control_->split(color, key, control_stream_);
  ncclComm_t part = nullptr;
  TANDEM_NCCL(ncclCommSplit(comm_, color, key, &part, nullptr));
  return std::make_unique<NcclCommunicator>(part, std::move(control), control_stream_);
}

void NcclCommunicator::abandon() noexcept {
  if (comm_) ncclCommAbort(std::exchange(comm_, nullptr));
  control_->abandon();
}

void NcclCommunicator::abort(int exit_code) noexcept {
  control_->abort(exit_code);
}

}  // namespace nccl

std::unique_ptr<Communicator> make_device_communicator(Context& context,
                                                       std::unique_ptr<Communicator> control) {
  ncclUniqueId id{};
  if (control->rank() == 0) TANDEM_NCCL(ncclGetUniqueId(&id));
  control->broadcast(Tensor(&id, DType::u8, {static_cast<std::int64_t>(sizeof(id))}), 0, context.control());
  context.control().synchronize();
  ncclComm_t comm = nullptr;
  TANDEM_NCCL(ncclCommInitRank(&comm, control->size(), id, control->rank()));
  return std::make_unique<nccl::NcclCommunicator>(comm, std::move(control), context.control());
}

}  // namespace tandem
