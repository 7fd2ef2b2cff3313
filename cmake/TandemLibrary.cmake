# tandem_library(NAME SOURCES … [LINK …]): one static library per folder, compiled with the project's flags.
function(tandem_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tandem_flags ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
endfunction()

# tandem_program(NAME SOURCES … [LINK …]): a program that users start; it lies directly in the build folder.
function(tandem_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tandem_flags ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()
