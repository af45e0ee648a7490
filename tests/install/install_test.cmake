# Installs the build into a fresh prefix, then configures, builds and runs a stranger's project against it.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... [-DFLAGS=...] -P install_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/stranger -B ${WORK}/build -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program stranger runtime_alone loops)
  run(${WORK}/build/${program})
  if(NOT output MATCHES "correct")
    message(FATAL_ERROR "${program} printed:\n${output}")
  endif()
endforeach()
# Nothing that the machine at run time may lack: no libcuda, no OpenCL loader, no NVRTC.
run(readelf -d ${WORK}/build/stranger)
if(output MATCHES "libcuda|libnvrtc|libOpenCL")
  message(FATAL_ERROR "a program linked with rtcg needs a driver to start:\n${output}")
endif()
