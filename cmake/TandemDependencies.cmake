# Dependencies come from the system's packages; header-only ones may also lie under .deps/ (scripts/fetch_deps.sh).
list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps/usr")

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface; the C++ bindings left the standard in 2012
find_package(MPI REQUIRED COMPONENTS CXX)
