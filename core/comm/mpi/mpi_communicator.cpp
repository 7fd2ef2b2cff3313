#include "core/comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <unistd.h>

#include "core/comm/mpi/mpi_check.h"
#include "core/comm/mpi/mpi_ring.h"
#include "core/comm/reduce.h"

namespace tandem::mpi {

namespace {

constexpr int kPointToPointTag = 100;  // beside the ring's tags

/// Calls post(data, bytes, request) for parts of the buffer that MPI can count, and waits for each.
template <class Post>
void in_parts(Group& group, const Tensor& buffer, Post&& post) {
  const std::int64_t most = std::max<std::int64_t>(
      1, group.limits().message_bytes / static_cast<std::int64_t>(size_of(buffer.dtype())));
  for (std::int64_t at = 0; at < buffer.numel(); at += most) {
    const Tensor part = buffer.slice(at, std::min(most, buffer.numel() - at));
    MPI_Request request = MPI_REQUEST_NULL;
    post(part.data(), static_cast<int>(part.bytes()), &request);
    group.wait_all({&request, 1});
  }
}

}  // namespace

template <class F>
void MpiCommunicator::enqueue(Stream& stream, F collective) {
  if (size() == 1) return;  // the identity
  stream.enqueue([group = group_, collective] {
    group->throw_if_abandoned();
    collective(*group);
  });
}

void MpiCommunicator::all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) {
  require_reducible(buffer);
  enqueue(stream, [buffer, op](Group& group) { ring_all_reduce(group, buffer, op); });
}

void MpiCommunicator::reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) {
  require_reducible(buffer);
  require_blocks(buffer, size());
  enqueue(stream, [buffer, op](Group& group) { ring_reduce_scatter(group, buffer, op); });
}

void MpiCommunicator::all_gather(const Tensor& buffer, Stream& stream) {
  require_blocks(buffer, size());
  enqueue(stream, [buffer](Group& group) { ring_all_gather(group, buffer); });
}

void MpiCommunicator::broadcast(const Tensor& buffer, int root, Stream& stream) {
  require_peer(root, size());
  enqueue(stream, [buffer, root](Group& group) {
    in_parts(group, buffer, [&](void* data, int bytes, MPI_Request* request) {
      TANDEM_MPI(MPI_Ibcast(data, bytes, MPI_BYTE, root, group.comm(), request));
    });
  });
}

void MpiCommunicator::send(const Tensor& buffer, int to, Stream& stream) {
  require_peer(to, size());
  enqueue(stream, [buffer, to](Group& group) {
    in_parts(group, buffer, [&](void* data, int bytes, MPI_Request* request) {
      TANDEM_MPI(MPI_Isend(data, bytes, MPI_BYTE, to, kPointToPointTag, group.comm(), request));
    });
  });
}

void MpiCommunicator::recv(const Tensor& buffer, int from, Stream& stream) {
  require_peer(from, size());
  enqueue(stream, [buffer, from](Group& group) {
    in_parts(group, buffer, [&](void* data, int bytes, MPI_Request* request) {
      TANDEM_MPI(MPI_Irecv(data, bytes, MPI_BYTE, from, kPointToPointTag, group.comm(), request));
    });
  });
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key, Stream& stream) {
  std::shared_ptr<Group> part;
  stream.enqueue([&part, group = group_, color, key] {
    MPI_Comm comm = MPI_COMM_NULL;
    TANDEM_MPI(MPI_Comm_split(group->comm(), color, key, &comm));
    part = std::make_shared<Group>(comm, group->limits());
  });
  stream.synchronize();
  return std::make_unique<MpiCommunicator>(std::move(part));
}

void MpiCommunicator::abort(int exit_code) noexcept {
  group_->abandon();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);  // in case MPI_Abort failed: mpirun ends the others when a rank is gone
}

}  // namespace tandem::mpi
