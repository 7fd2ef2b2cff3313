# tandem_version: the version and git state of the build as constants, in tandem_version.h. Worked out at every build.
set(templates "${CMAKE_CURRENT_LIST_DIR}/version")
set(generated "${PROJECT_BINARY_DIR}/version")

configure_file("${templates}/tandem_version.h.in" "${generated}/tandem_version.h" COPYONLY)
add_custom_target(tandem_version_source
  BYPRODUCTS "${generated}/tandem_version.cpp"
  COMMAND ${CMAKE_COMMAND}
    "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "-DTEMPLATE=${templates}/tandem_version.cpp.in"
    "-DOUTPUT=${generated}/tandem_version.cpp"
    "-DNUMBER=${PROJECT_VERSION}"
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}"
    "-DARCH=${TANDEM_ARCH}"
    -P "${templates}/write_version.cmake"
  COMMENT "Looking at the version and git state"
  VERBATIM)

add_library(tandem_version STATIC "${generated}/tandem_version.cpp")
target_include_directories(tandem_version PUBLIC "${generated}")
target_link_libraries(tandem_version PRIVATE tandem_flags)
add_dependencies(tandem_version tandem_version_source)
