# The command line as a user types it: what it prints, what it refuses, with which exit code.
#   cmake -DRTCG=... -DWORK=... -P command_line_test.cmake
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{RTCG_CACHE_DIR} ${WORK}/cache)
set(ENV{RTCG_DEVICE} "")

function(expect status pattern)
  execute_process(COMMAND ${RTCG} ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT found EQUAL status OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "rtcg ${ARGN}\nshould exit with ${status} and print '${pattern}', "
      "but exited with ${found} and printed:\n${output}")
  endif()
endfunction()

file(WRITE ${WORK}/axpy.c "#include <rtcg/host_kernel.h>
RTCG_KERNEL void axpy(const rtcg_launch *launch, void *const *arguments) {
  (void)launch; (void)arguments;
}
")
file(WRITE ${WORK}/wrong.c "int f(void) { return undeclared; }\n")

expect(0 "devices.*compile.*cache" --help)
expect(0 "rtcg 0\\.1\\.0" --version)
expect(0 "host" devices)
expect(0 "\"device\": \"host\"" devices --json)
expect(2 "subcommand" )
expect(2 "not expected|nonsense" devices nonsense)

expect(0 "has never been|no entry|empty|not" cache why axpy.c)
expect(0 "host_shared_object for host: [0-9]+ bytes\n" compile axpy.c)
expect(0 "from the cache" compile axpy.c)
expect(0 "\"from_cache\": true" compile axpy.c --json)
expect(0 "\"from_cache\": false" compile axpy.c --json --no-cache)
expect(0 "defines" cache why axpy.c -D FAST=1)
expect(0 "1 entries" cache list)
expect(0 "\"name\": \"axpy.c\"" cache list --json)
expect(0 "exported: 1 entries" cache export pack.bin)
expect(0 "removed: 1 entries" cache clear)
expect(0 "imported: 1 entries" cache import pack.bin)
expect(0 "removed: 1 entries" cache trim 1K)
expect(0 "bytes\n" compile axpy.c -o axpy.so)
if(NOT EXISTS ${WORK}/axpy.so)
  message(FATAL_ERROR "rtcg compile -o wrote nothing")
endif()

expect(1 "undeclared" compile wrong.c)
expect(1 "tools.compile.unreadable_file" compile absent.c)
expect(1 "tools.compile.unwritable_file" compile axpy.c -o absent/axpy.so)
expect(1 "tools.compile.bad_target" compile axpy.c --target gpu)
expect(1 "runtime.device.bad_name|runtime.device.not_found" compile axpy.c --target opencl:99)
expect(1 "tools.rtcg.bad_size" cache trim 3X)
expect(1 "runtime.cache.bad_pack" cache import axpy.c)
