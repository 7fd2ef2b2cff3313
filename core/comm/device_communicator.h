#pragma once

#include <memory>

#include "core/comm/communicator.h"

namespace tandem {

/// The group of `control`'s ranks for buffers in the memory of their GPUs: NCCL. `control` becomes its
/// control(). Collective, blocks the host; every rank has a GPU of its own. Throws CommError.
std::unique_ptr<Communicator> make_device_communicator(Context& context,
                                                       std::unique_ptr<Communicator> control);

}  // namespace tandem
