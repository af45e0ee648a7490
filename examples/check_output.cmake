# Runs PROGRAM on the host, with ARGUMENTS, and compares its output with the file EXPECTED; times are masked.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} --device host RESULT_VARIABLE status OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
string(REGEX REPLACE "[0-9.]+ ms" "# ms" output "${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} failed (${status}):\n${output}")
endif()
if(DEFINED ENV{UPDATE_GOLDEN})
  file(WRITE ${EXPECTED} "${output}")
endif()
file(READ ${EXPECTED} expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed\n${output}\nwhere ${EXPECTED} has\n${expected}")
endif()
