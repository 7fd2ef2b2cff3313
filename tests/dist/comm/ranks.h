#pragma once

#include <functional>

#include "core/comm/world.h"
#include "core/device/context.h"

namespace tandem::testing {

/// Runs a test's body on every rank of a world: under mpirun on the one rank that this process is, else on
/// several threads. One of two sources is linked in: mpi_ranks.cpp (with its own main) or thread_ranks.cpp.
void on_every_rank(const std::function<void(World&, Context&)>& body);

}  // namespace tandem::testing
