#pragma once

#include "core/comm/communicator.h"
#include "core/comm/threads/thread_group.h"

namespace tandem::threads {

/// The collectives of N ranks that sit in a circle, each sending only to its right neighbour and hearing only
/// from its left one. Every rank of the group calls the same function with its own `rank` and buffer, which
/// is changed in place; the call returns when this rank's part is done.
///
/// Why a ring: a rank sends 2 (P−1)/P · n elements for an all-reduce of n, whatever P is, which is the least
/// possible, and every link is busy all the time (Patarasuk and Yuan, "Bandwidth optimal all-reduce
/// algorithms for clusters of workstations", JPDC 2009).
void ring_all_reduce(ThreadGroup& group, int rank, const Tensor& buffer, ReduceOp op);
void ring_reduce_scatter(ThreadGroup& group, int rank, const Tensor& buffer, ReduceOp op);
void ring_all_gather(ThreadGroup& group, int rank, const Tensor& buffer);
void ring_broadcast(ThreadGroup& group, int rank, const Tensor& buffer, int root);

/// From one rank to any other, chunk by chunk.
void send(ThreadGroup& group, int rank, const Tensor& buffer, int to);
void receive(ThreadGroup& group, int rank, const Tensor& buffer, int from);

}  // namespace tandem::threads
