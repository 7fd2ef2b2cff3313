# Which devices: TANDEM_CUDA=AUTO takes the CUDA backend where it can be compiled, ON insists on it, OFF leaves it out.
# Sets TANDEM_HAS_CUDA; with it the targets CUDA::cudart, CUDA::cublasLt, tandem_nccl and, where its headers are,
# tandem_cudnn_frontend.
set(TANDEM_CUDA AUTO CACHE STRING "The CUDA backend: AUTO, ON or OFF")
set_property(CACHE TANDEM_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT TANDEM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TANDEM_CUDA is '${TANDEM_CUDA}'; it takes AUTO, ON or OFF")
endif()

set(TANDEM_HAS_CUDA OFF)
set(TANDEM_DEVICES "CPU")
set(missing "")
if(TANDEM_CUDA STREQUAL "OFF")
  return()
endif()

find_program(TANDEM_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT TANDEM_NVCC)
  list(APPEND missing "nvcc (the CUDA Toolkit)")
endif()
cmake_path(GET TANDEM_NVCC PARENT_PATH cuda_bin)
cmake_path(GET cuda_bin PARENT_PATH cuda_root)
set(cuda_hints HINTS ${cuda_root} ENV CUDA_HOME)
find_path(TANDEM_CUDNN_HEADERS cudnn.h ${cuda_hints} PATH_SUFFIXES include)
find_path(TANDEM_NCCL_HEADERS nccl.h ${cuda_hints} PATH_SUFFIXES include)
find_library(TANDEM_NCCL_LIBRARY NAMES nccl libnccl.so.2 ${cuda_hints} PATH_SUFFIXES lib lib64)
if(NOT TANDEM_NCCL_HEADERS OR NOT TANDEM_NCCL_LIBRARY)
  list(APPEND missing "NCCL")
endif()

if(missing)
  list(JOIN missing ", " missing)
  if(TANDEM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TANDEM_CUDA=ON, but not found: ${missing}")
  endif()
  set(TANDEM_DEVICES "CPU (no CUDA backend: not found: ${missing})")
  return()
endif()

# The GPU of this machine, or two generations where there is none. CMake knows `native` from 3.24 on, but fails without a GPU.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  file(GLOB gpus /dev/nvidia[0-9]*)
  if(gpus)
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
endif()
set(CMAKE_CUDA_COMPILER "${TANDEM_NVCC}" CACHE FILEPATH "")
enable_language(CUDA)
# CMake 3.25 drops CMAKE_CUDA_STANDARD 20 silently with CUDA 13, so it is said plainly.
string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
unset(CMAKE_CUDA_STANDARD)
find_package(CUDAToolkit REQUIRED)

add_library(tandem_nccl INTERFACE)
target_include_directories(tandem_nccl SYSTEM INTERFACE "${TANDEM_NCCL_HEADERS}")
target_link_libraries(tandem_nccl INTERFACE "${TANDEM_NCCL_LIBRARY}")

# NVIDIA's header-only cudnn-frontend: a path given, an installed Python package, or what scripts/fetch_deps.sh brought.
find_path(TANDEM_CUDNN_FRONTEND cudnn_frontend.h
  PATHS "${PROJECT_SOURCE_DIR}/.deps/usr/include" PATH_SUFFIXES include
  DOC "Folder of cudnn-frontend's headers (PyPI: nvidia-cudnn-frontend)")
set(TANDEM_HAS_CUDA ON)
if(TANDEM_CUDNN_FRONTEND AND TANDEM_CUDNN_HEADERS)
  add_library(tandem_cudnn_frontend INTERFACE)
  # The headers alone: cuDNN itself is opened at run time, so a program starts where it is not.
  target_include_directories(tandem_cudnn_frontend SYSTEM INTERFACE "${TANDEM_CUDNN_FRONTEND}" "${TANDEM_CUDNN_HEADERS}")
  set(attention "attention by cuDNN")
else()
  set(attention "own attention: cuDNN's or cudnn-frontend's headers were not found")
endif()
set(TANDEM_DEVICES "CPU, CUDA ${CUDAToolkit_VERSION} (architectures ${CMAKE_CUDA_ARCHITECTURES}; ${attention})")
