# GoogleTest as GTest::gtest and GTest::gtest_main: the installed library, else built from the sources that Debian's and Ubuntu's
# `googletest` package puts under /usr/src (or scripts/fetch_deps.sh under .deps/).
find_package(GTest QUIET CONFIG)
if(NOT GTest_FOUND)
  find_path(TANDEM_GTEST_SOURCES googletest/CMakeLists.txt
    PATHS /usr/src/googletest "${TANDEM_DEPS}/src/googletest" NO_DEFAULT_PATH)
  if(NOT TANDEM_GTEST_SOURCES)
    message(FATAL_ERROR "GoogleTest is missing: install libgtest-dev, run scripts/fetch_deps.sh, or configure with -DTANDEM_TESTS=OFF")
  endif()
  set(INSTALL_GTEST OFF)
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
  add_subdirectory("${TANDEM_GTEST_SOURCES}/googletest" "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
  foreach(library gtest gtest_main)
    if(NOT TARGET GTest::${library})
      add_library(GTest::${library} ALIAS ${library})
    endif()
  endforeach()
endif()
