# How everything is compiled: Release and -march=native unless asked otherwise.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(TANDEM_ARCH native CACHE STRING "Target of -march: native, or x86-64-v3 for binaries that run on other machines")
set(TANDEM_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")
option(CMAKE_COMPILE_WARNING_AS_ERROR "Warnings are errors" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(tandem_flags INTERFACE)
target_include_directories(tandem_flags INTERFACE "${PROJECT_SOURCE_DIR}")

# -Wconversion is left out: index arithmetic would drown in casts that say nothing. -Wmaybe-uninitialized as well: at -O3 GCC 13
# takes inlined loops over a small array for reads of what was never written.
set(warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wcast-qual -Wundef -Wvla
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wno-maybe-uninitialized>)
target_compile_options(tandem_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${warnings}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra;-DFMT_USE_CONSTEXPR=1>)

# No code here reads errno of a math function or catches floating-point traps; without these two, loops over exp do not vectorise.
target_compile_options(tandem_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-march=${TANDEM_ARCH};-fno-math-errno;-fno-trapping-math>)

if(TANDEM_SANITIZE)
  set(sanitize -fsanitize=${TANDEM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(tandem_flags INTERFACE ${sanitize} -g)
  target_link_options(tandem_flags INTERFACE ${sanitize})
endif()
