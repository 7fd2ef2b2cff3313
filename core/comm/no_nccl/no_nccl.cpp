// A build without NCCL.
#include "core/base/error.h"
#include "core/comm/device_communicator.h"

namespace tandem {

std::unique_ptr<Communicator> make_device_communicator(Context&, std::unique_ptr<Communicator>) {
  throw CommError("no collectives between GPUs: this program was built without NCCL");
}

}  // namespace tandem
