# Run at every build by the target tandem_version_source. Touches OUTPUT only if something has changed.
set(GIT "unknown")
set(ENV{GIT_OPTIONAL_LOCKS} 0)  # looking at the state must not lock it
execute_process(COMMAND git -C "${SOURCE_DIR}" describe --always --dirty
  OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# An unpacked archive may lie inside somebody else's checkout: that one's state is not ours.
if(failed STREQUAL "0" AND EXISTS "${SOURCE_DIR}/.git")
  set(GIT "${described}")
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
