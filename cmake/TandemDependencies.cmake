# Dependencies come from the system's packages. Those that need no library of the system may also lie under .deps/
# (scripts/fetch_deps.sh puts them there), for machines where nothing can be installed; the system's come first.
set(TANDEM_DEPS "${PROJECT_SOURCE_DIR}/.deps/usr")

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Eigen3 3.4 REQUIRED CONFIG PATHS "${TANDEM_DEPS}")
find_package(CLI11 REQUIRED CONFIG PATHS "${TANDEM_DEPS}")
find_package(nlohmann_json REQUIRED CONFIG PATHS "${TANDEM_DEPS}")

# {fmt} is a library where it is installed; its headers alone do too.
find_package(fmt QUIET CONFIG)
if(NOT fmt_FOUND)
  find_path(TANDEM_FMT_HEADERS fmt/format.h PATHS "${TANDEM_DEPS}/include" REQUIRED)
  add_library(fmt::fmt INTERFACE IMPORTED)
  set_target_properties(fmt::fmt PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${TANDEM_FMT_HEADERS}"
    INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
endif()

find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  set(ZLIB_ROOT "${TANDEM_DEPS}")
  find_package(ZLIB REQUIRED)
endif()

set(MPI_CXX_SKIP_MPICXX ON)  # the C interface; the C++ bindings left the standard in 2012
find_package(MPI REQUIRED COMPONENTS CXX)
