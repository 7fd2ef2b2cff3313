#include <array>
#include <cstdint>

#include "core/comm/device_communicator.h"
#include "core/comm/launch.h"
#include "core/comm/mpi/mpi_check.h"
#include "core/comm/mpi/mpi_communicator.h"
#include "core/comm/mpi/mpi_session.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

constexpr int kMaxCores = 8192;

/// The ranks that share this host's memory.
class LocalRanks {
 public:
  LocalRanks() {
    TANDEM_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_));
    TANDEM_MPI(MPI_Comm_rank(comm_, &place_.local_rank));
    TANDEM_MPI(MPI_Comm_size(comm_, &place_.local_size));
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  ~LocalRanks() { MPI_Comm_free(&comm_); }

  Place place() const { return place_; }

  /// The cores that any of the local ranks brings.
  std::vector<int> united(const std::vector<int>& cores) const {
    std::array<std::uint8_t, kMaxCores> member{};
    for (int core : cores) member.at(core) = 1;
    TANDEM_MPI(MPI_Allreduce(MPI_IN_PLACE, member.data(), kMaxCores, MPI_UINT8_T, MPI_MAX, comm_));
    std::vector<int> result;
    for (int core = 0; core < kMaxCores; ++core)
      if (member[core]) result.push_back(core);
    return result;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  Place place_;
};

Binding share_cores(const LocalRanks& local, const WorldOptions& options) {
  const auto [rank, ranks] = local.place();
  Binding binding{current_cores(), current_cores(), ""};
  const auto job = local.united(job_cores());
  if (options.bind) {
    binding.cores = share_of(job, rank, ranks);
    if (binding.cores != binding.allowed) bind_process(binding.cores);
  }
  binding.note = binding_note(binding.allowed, binding.cores, ranks, options.compute_threads);
  return binding;
}

std::unique_ptr<World> join_mpi(int ranks, Context& context, const WorldOptions& options) {
  auto session = std::make_shared<mpi::Session>(ranks);
  std::shared_ptr<mpi::Group> group;
  Place place;
  Binding binding;
  // MPI is started and ended by this thread; in between only the control stream's thread calls it.
  context.control().enqueue([&] {
    group = std::make_shared<mpi::Group>(MPI_COMM_WORLD, mpi::Limits{});
    const LocalRanks local;
    place = local.place();
    binding = share_cores(local, options);
  });
  context.control().synchronize();
  std::unique_ptr<Communicator> comm = std::make_unique<mpi::MpiCommunicator>(std::move(group));
  if (context.device().kind == DeviceKind::cuda && ranks > 1)
    comm = make_device_communicator(context, std::move(comm));
  return std::make_unique<World>(std::move(comm), place, std::move(binding), mpi::Session::library_version(),
                                 std::move(session));
}

std::unique_ptr<World> join_alone(const WorldOptions& options) {
  Binding binding{current_cores(), current_cores(), ""};
  binding.note = binding_note(binding.allowed, binding.cores, 1, options.compute_threads);
  return std::make_unique<World>(make_self_communicator(), Place{}, std::move(binding));
}

}  // namespace

std::unique_ptr<World> World::join(Context& context, const WorldOptions& options) {
  const int ranks = launched_ranks();
  return ranks == 0 ? join_alone(options) : join_mpi(ranks, context, options);
}

}  // namespace tandem
