#include "core/comm/world.h"

#include <array>
#include <cstdint>
#include <utility>

namespace tandem {

World::World(std::unique_ptr<Communicator> comm, Place place, Binding binding, std::string mpi_version,
             std::shared_ptr<void> session)
    : session_(std::move(session)),
      comm_(std::move(comm)),
      place_(place),
      binding_(std::move(binding)),
      mpi_version_(std::move(mpi_version)) {}

World::~World() {
  if (std::uncaught_exceptions() > exceptions_ && !agreed_to_end_) comm_->abort(1);
}

void World::agree(const std::exception* error, Context& context) {
  Stream& stream = context.control();
  Communicator& comm = comm_->control();
  std::int64_t failed = error ? rank() : size();
  comm.all_reduce(Tensor::of(&failed, {1}), ReduceOp::min, stream);
  stream.synchronize();
  if (failed == size()) return;

  const int root = static_cast<int>(failed);
  std::string message = error ? error->what() : "";
  const auto* own = dynamic_cast<const Error*>(error);
  std::array<std::int64_t, 2> header = {own ? own->exit_code() : 1,
                                        static_cast<std::int64_t>(message.size())};
  comm.broadcast(Tensor::of(header.data(), {2}), root, stream);
  stream.synchronize();
  message.resize(static_cast<std::size_t>(header[1]));
  comm.broadcast(Tensor(message.data(), DType::u8, {header[1]}), root, stream);
  stream.synchronize();

  agreed_to_end_ = true;
  throw AgreedError(message, static_cast<int>(header[0]), root, rank() == root);
}

}  // namespace tandem
