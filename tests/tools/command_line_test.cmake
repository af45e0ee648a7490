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

get_filename_component(kernels ${CMAKE_CURRENT_LIST_DIR}/../../examples/kernels ABSOLUTE)
file(WRITE ${WORK}/wrong.loopy "domains {[i]: 0 <= i < n}\nstatements a[i] = b[i +\n")
expect(0 "__global__ void __launch_bounds__\\(256\\) axpy" show ${kernels}/axpy.loopy)
expect(0 "__kernel" show ${kernels}/axpy.loopy --target opencl)
expect(0 "for \\(int i = 0; i < n" show ${kernels}/axpy.loopy --target host --as-described)
expect(0 "split_iname" show ${kernels}/axpy.loopy --stage kernel)
expect(0 "barrier for 'a_fetch'" show ${kernels}/transpose.loopy --stage schedule)
expect(0 "correct" run ${kernels}/matmul.loopy --set n=50 --device host --check)
expect(0 "\"is_correct\": true" run ${kernels}/axpy.loopy --set n=50 --set a=2.5 -d host --check --json)
expect(0 "ms a run" run ${kernels}/axpy.loopy --set n=50 -d host)
expect(0 "grid n x 1 x 1, block 256 x 1 x 1, 32 bytes" explain ${kernels}/row_sums.loopy)
expect(0 "a_fetch +f32\\[64, 16\\] +shared.*loads of a +n\\^3" explain ${kernels}/matmul.loopy)
expect(0 "loads of a +2097152 +32768" explain ${kernels}/matmul.loopy --set n=128)
expect(0 "\"block\": \\[.*256.*\"counts\"" explain ${kernels}/axpy.loopy --json)
expect(1 "tools.rtcg.bad_value" explain ${kernels}/axpy.loopy --set n)
expect(0 "launches" explain ${kernels}/axpy.loopy --draw tree.dot)
file(READ ${WORK}/tree.dot drawing)
if(NOT drawing MATCHES "digraph kernel.*z\\[256")
  message(FATAL_ERROR "rtcg explain --draw wrote:\n${drawing}")
endif()
find_program(dot dot)
if(dot)
  expect(0 "launches" explain ${kernels}/axpy.loopy --draw tree.svg)
else()
  expect(1 "tools.explain.no_graphviz" explain ${kernels}/axpy.loopy --draw tree.svg)
endif()
expect(1 "tools.explain.unwritable_file" explain ${kernels}/axpy.loopy --draw absent/tree.dot)
expect(1 "tools.rtcg.bad_value" run ${kernels}/axpy.loopy --set n)
expect(1 "loopy.argument_data.unknown_length" run ${kernels}/axpy.loopy)
expect(1 "loopy.read_kernel_file.unreadable" show absent.loopy)
expect(1 "wrong.loopy:2: .*loopy.parse_statements.syntax" show wrong.loopy)

expect(0 "^[0-9][0-9][0-9]+\n" slicings ${kernels}/matmul.loopy --set n=512 --count)
expect(0 "i: g.1.*fetch.*5 of [0-9]+ slicings" slicings ${kernels}/matmul.loopy --set n=512 --list 5)
expect(0 "2 tried of [0-9]+ slicings.*remembered in" tune ${kernels}/matmul.loopy --set n=32
  -d host --max-candidates 2 --report report.html --wisdom wisdom.jsonl)
file(READ ${WORK}/report.html page)
file(READ ${WORK}/wisdom.jsonl wisdom)
if(NOT page MATCHES "<svg.*Source of the winner" OR NOT wisdom MATCHES "\"slicing\"")
  message(FATAL_ERROR "rtcg tune wrote:\n${page}\n${wisdom}")
endif()
expect(0 "\"tried\"" tune ${kernels}/matmul.loopy --set n=32 -d host --max-candidates 1 --json
  --wisdom wisdom.jsonl)
expect(1 "tools.tune.unwritable_file" tune ${kernels}/matmul.loopy --set n=32 -d host
  --max-candidates 1 --report absent/report.html --wisdom wisdom.jsonl)
expect(1 "loopy.slicings.missing_parameter" slicings ${kernels}/matmul.loopy)

set(maxwell "0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))")
expect(0 "__device__ void flux.*3 evaluators, 33 flops, 16 numbers read; linear in the fields"
  flux ${maxwell} --fields e:3,h:3 --target cuda)
expect(0 "cl_khr_fp64" flux ${maxwell} --fields e:3,h:3 --target opencl)
expect(0 "\"flops\": 30.*\"fields_read\".*\"is_linear\": true.*\"source\"" flux ${maxwell}
  --fields e:3,h:3 --target host --set alpha=1 --json)
expect(0 "void flux\\(const float \\*interior, const float \\*n" flux ${maxwell} --fields e:3,h:3
  --boundary "[-interior(e), interior(h)]" --single --target host)
expect(0 "flux_at_points.*2 evaluators" flux "jump(eps*u)" --fields u -d 1 --material eps
  --neighbour --kernel)
expect(1 "'n.0.\\*u' contains 'u' without a side.*dg.make_evaluators.side_missing"
  flux "n[0]*u" --fields u)
expect(1 "dg.parse_flux.syntax" flux "jump(" --fields u)
expect(2 "target" flux "jump(u)" --fields u --target vulkan)
