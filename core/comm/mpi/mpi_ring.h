#pragma once

#include "core/comm/communicator.h"
#include "core/comm/mpi/mpi_group.h"

namespace tandem::mpi {

/// The ring collectives of core/comm/threads/ring.h over MPI's point-to-point messages, in place, with two
/// additions. The buffer is cut into pieces, and several pieces are on their way round the ring at once:
/// while one is being added, the others keep the link busy. And nothing blocks: messages are posted, tested,
/// and between tests the thread sleeps.
///
/// Bits: a piece's terms are added in ring order, so the result depends on the buffer's size and the cuts
/// alone, never on timing; all ranks get the same bits. With two ranks there is one addition per element, and
/// the cuts do not matter either.
void ring_all_reduce(Group& group, const Tensor& buffer, ReduceOp op);
void ring_reduce_scatter(Group& group, const Tensor& buffer, ReduceOp op);
void ring_all_gather(Group& group, const Tensor& buffer);

}  // namespace tandem::mpi
