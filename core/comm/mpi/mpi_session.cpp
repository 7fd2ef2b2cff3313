#include "core/comm/mpi/mpi_session.h"

#include <array>

#include "core/comm/mpi/mpi_check.h"

namespace tandem::mpi {

std::string error_text(int status) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(status, text.data(), &length) != MPI_SUCCESS) return "error " + std::to_string(status);
  return {text.data(), static_cast<std::size_t>(length)};
}

Session::Session(int launched_ranks) {
  int provided = MPI_THREAD_SINGLE, size = 0;
  TANDEM_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  TANDEM_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  TANDEM_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (provided < MPI_THREAD_MULTIPLE)
    throw CommError("this MPI ({}) was built without MPI_THREAD_MULTIPLE, which the comm thread needs",
                    library_version());
  if (size != launched_ranks)
    throw CommError(
        "the launcher started {} ranks, but MPI ({}) finds {}: is its mpirun that of another MPI?",
        launched_ranks, library_version(), size);
}

Session::~Session() {
  MPI_Finalize();
}

std::string Session::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  TANDEM_MPI(MPI_Get_library_version(text.data(), &length));
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find('\n'));
}

}  // namespace tandem::mpi
