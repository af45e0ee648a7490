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
expect(2 "there is no command 'show.loopy': the commands are devices, compile, cache, show" show.loopy)
expect(2 "there is no command 'lsit': the commands are list, trim" cache lsit)
expect(2 "not expected|nonsense" devices nonsense)

expect(0 "has never been|no entry|empty|not" cache why axpy.c)
expect(0 "host_shared_object for host: [0-9]+ bytes\n" compile axpy.c)
expect(0 "from the cache" compile axpy.c)
expect(0 "\"from_cache\": true" compile axpy.c --json)
expect(0 "\"from_cache\": false" compile axpy.c --json --no-cache)
expect(0 "defines" cache why axpy.c -D FAST=1)
expect(0 "\n1 entry, " cache list)
expect(0 "\"name\": \"axpy.c\"" cache list --json)
expect(0 "exported: 1 entry\n" cache export pack.bin)
expect(0 "removed: 1 entry\n" cache clear)
expect(0 "imported: 1 entry\n" cache import pack.bin)
expect(0 "removed: 1 entry\n" cache trim 1K)
# after the counts of entries: it keeps the kernels that it measures
expect(0 "submit.*host +[0-9.]+ us +[0-9.]+ us.*GB/s.*fill: bytes written" devices --measure)
# two devices: PoCL makes them
set(pocl_devices "$ENV{POCL_DEVICES}")
set(ENV{POCL_DEVICES} "pthread pthread")
execute_process(COMMAND ${RTCG} devices OUTPUT_VARIABLE several)
if(several MATCHES "opencl:1 ")
  expect(0 "from, to +opencl:0 +opencl:1\nopencl:0 +- +[0-9.]+ GB/s, [0-9.]+ us \\*\nopencl:1 +[0-9.]+ GB/s, [0-9.]+ us \\* +-" devices --measure)
  expect(0 "\"to\": \"opencl:1\",[^}]*\"bytes_per_second\": [0-9.]+" devices --measure --json)
endif()
set(ENV{POCL_DEVICES} "${pocl_devices}")
expect(0 "\"measured\": {[^}]*\"copy_on_device_bytes_per_second\": [0-9.]+" devices --measure --json)
expect(0 "bytes\n" compile axpy.c -o axpy.so)
if(NOT EXISTS ${WORK}/axpy.so)
  message(FATAL_ERROR "rtcg compile -o wrote nothing")
endif()

expect(1 "undeclared" compile wrong.c)
file(WRITE ${WORK}/empty.c "")
expect(1 "'empty.c' is empty.*tools.compile.empty_file" compile empty.c)
# Defect 5: what C text does not declare is refused, and the message names the user's text alone
file(WRITE ${WORK}/implicit.c "double f(void) {\n  return atof(\"2.5\");\n}\n")
file(WRITE ${WORK}/c_text.loopy "kernel text
domains {[i]: 0 <= i < n}
arguments a: f64[n]; b: f64[n]
statements ... c \"\${b[i]} = sine(\${a[i]});\" {writes=b}
")
expect(1 "implicit_c.c:2:10.*runtime.host_compiler.refused" compile implicit.c)
expect(1 "b.i. = sine.a.i.+;\n +. +\\^.*runtime.host_compiler.refused"
  run c_text.loopy --set n=8 -d host)
expect(1 "\\^ .runtime.host_compiler.refused" run c_text.loopy --set n=8 -d host)
expect(1 "tools.compile.unreadable_file" compile absent.c)
expect(1 "tools.compile.unreadable_file" compile .)
expect(1 "tools.compile.unwritable_file" compile axpy.c -o absent/axpy.so)
expect(1 "tools.compile_worker.no_program" compile-worker)
expect(1 "tools.compile.bad_target" compile axpy.c --target gpu)
expect(1 "runtime.device.not_found" compile axpy.c --target opencl:99)
expect(1 "'cuda:foo' names no device: .* such as cuda:0" compile axpy.c --target cuda:foo)
expect(1 "pack': open returned No such file or directory .runtime.cache.export_failed"
  cache export absent/pack)
expect(1 "tools.rtcg.bad_size" cache trim 3X)
expect(1 "runtime.cache.bad_pack" cache import axpy.c)

get_filename_component(kernels ${CMAKE_CURRENT_LIST_DIR}/../../examples/kernels ABSOLUTE)
expect(1 "is a kernel file, not source: 'rtcg show .*tools.compile.kernel_file" compile
  ${kernels}/axpy.loopy)
file(WRITE ${WORK}/wrong.loopy "domains {[i]: 0 <= i < n}\nstatements a[i] = b[i +\n")
expect(0 "__global__ void __launch_bounds__\\(256\\) axpy" show ${kernels}/axpy.loopy)
expect(0 "__kernel" show ${kernels}/axpy.loopy --target opencl)
expect(0 "for \\(int i = 0; i < n" show ${kernels}/axpy.loopy --target host --as-described)
expect(0 "split_iname" show ${kernels}/axpy.loopy --stage kernel)
expect(0 "barrier for 'a_fetch'" show ${kernels}/transpose.loopy --stage schedule)
expect(0 "correct" run ${kernels}/matmul.loopy --set n=50 --device host --check)
expect(0 "\"is_correct\": true" run ${kernels}/axpy.loopy --set n=50 --set a=2.5 -d host --check --json)
file(WRITE ${WORK}/open.loopy "domains {[i]: 0 <= i < n}
arguments o: i32[n]; n: i32
statements
  o[i] = cast(i32, 1e30*(i + 1))
")
expect(1 "nothing was decided: .*first the value of 'o' in statement 'set_o' at i = 0;.*nothing_compared"
  run open.loopy --set n=5 -d host --check)
expect(1 "first the value of 'o' in statement 'set_o' at i = 0;.*tools.tune.nothing_compared.*not remembered: nothing was checked"
  tune open.loopy --set n=5 -d host --fresh --budget 1 --max-candidates 1)
file(WRITE ${WORK}/bytes.loopy "domains {[i, k]: 0 <= i < n and 0 <= k < 100}
arguments a: i8[n, 100]; o, s: i32[n]; n: i32
statements
  o[i] = i
  s[i] = sum(k, a[i, k])
")
expect(0 "5 numbers, interpreted; 5 that the description does not determine, first the value of 's' in statement 'set_s' at i = 0"
  run bytes.loopy --set n=5 -d host --check)
expect(0 "\"first_undecided\": \"the value of 's' in" run bytes.loopy --set n=5 -d host --check --json)
# What no slicing makes legal is not listed.
file(WRITE ${WORK}/beyond.loopy "domains {[i]: 0 <= i < n}
arguments a, b: f32[n]; n: i32
statements
  b[i] = a[i + 1]
")
expect(1 "beyond.loopy:4: 'a.i . 1.' in statement 'set_b' reads element 500 .*out_of_bounds"
  slicings beyond.loopy --set n=500)
expect(1 "reads element 500 .*out_of_bounds" tune beyond.loopy --set n=500 -d host --fresh --budget 1)
# Texts for arrays that 32 bits do not reach.
expect(0 "const long long i_0 = " show axpy --slicing "i: g.0 l.0*256" --set n=5e9)
expect(0 "const int i_0 = " show axpy --slicing "i: g.0 l.0*256" --set n=5e8)
expect(1 "give a value to each parameter.*--set n=..., or a section 'sizes'"
  run open.loopy -d host)
expect(1 "--set n=..., or a section 'sizes'.*missing_parameter" slicings open.loopy)
expect(1 "\"is_correct\": false" run open.loopy --set n=5 -d host --check --json)
expect(0 "ms a run" run ${kernels}/axpy.loopy --set n=50 -d host)
expect(0 "correct" run ${kernels}/axpy.loopy --set n=50 -d host --check --capture captured)
file(GLOB launch ${WORK}/captured/axpy-*)
execute_process(COMMAND sh -c "grep '^    ' README.md | sh -e" WORKING_DIRECTORY ${launch}
  OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT output MATCHES "y: 50 elements, equal.*the results agree\n$")
  message(FATAL_ERROR "a captured launch of axpy should agree with itself, but printed:\n${output}")
endif()
expect(1 "cannot write a captured launch to 'axpy.c'.*runtime.capture.not_written"
  run ${kernels}/axpy.loopy --set n=50 -d host --capture axpy.c)
expect(1 "loopy.executor.negative_length" run ${kernels}/axpy.loopy --set n=-5 -d host)
expect(0 "grid n x 1 x 1, block 256 x 1 x 1, 32 bytes" explain ${kernels}/row_sums.loopy)
expect(0 "a_fetch +f32\\[64, 16\\] +shared.*loads of a +n\\^3" explain ${kernels}/matmul.loopy)
expect(0 "loads of a +2097152 +32768" explain ${kernels}/matmul.loopy --set n=128)
expect(0 "barriers of a block +- +16\n" explain ${kernels}/matmul.loopy --set n=128)
expect(0 "loads of a +g.0 0, g.1 64\\*n, l.0 1, l.1 n" explain ${kernels}/matmul.loopy)
expect(0 "stores to c +g.0 64, g.1 64\\*n, l.0 4, l.1 4\\*n +n\\^2\n" explain ${kernels}/matmul.loopy)
expect(0 "\"block\": \\[.*256.*\"counts\"" explain ${kernels}/axpy.loopy --json)
expect(0 "// +for t in .0, steps.:\n// +heat_0.t.\n" show ${kernels}/heat.loopy)
expect(0 "for t .host.\n  set_v" show ${kernels}/heat.loopy --stage schedule)
expect(0 "correct" run ${kernels}/heat.loopy --set n=1000 --set steps=7 --device host --check)
expect(0 "launches:\n  for t in .0, steps.:\n    heat_0.t.: grid" explain ${kernels}/heat.loopy)
expect(0 "launches +- +14\n" explain ${kernels}/heat.loopy --set n=1000 --set steps=7)
expect(0 "\"host_loops\": .[^a-z]*\"iname\": \"t\"" explain ${kernels}/heat.loopy --json)
expect(1 "tools.rtcg.bad_value" explain ${kernels}/axpy.loopy --set n)
# Images: kernels read them through textures, and the interpreter knows what these give.
expect(0 "correct" run ${kernels}/turn.loopy --small --set cosine=0.8 --set sine=0.6 -d host --check)
expect(0 "correct" run ${kernels}/halve.loopy --small -d host --check)
expect(0 "cudaSurfaceObject_t half.*surf2Dwrite" show ${kernels}/halve.loopy --target cuda)
expect(0 "1 tried of .*compared with those of the interpreter" tune ${kernels}/halve.loopy --set h=20
  --set w=25 -d host --max-candidates 1)
expect(0 "cudaTextureObject_t picture.*tex2D<float>.picture" show ${kernels}/turn.loopy --target cuda)
expect(0 "picture +f32.h, w. +image +read" explain ${kernels}/turn.loopy)
expect(0 "1 tried of .*compared with those of the interpreter" tune ${kernels}/turn.loopy --set h=40
  --set w=50 --set cosine=0.8 --set sine=0.6 -d host --max-candidates 1)
# One launch in place of a loop of the host.
file(READ ${kernels}/heat.loopy joined)
file(WRITE ${WORK}/joined.loopy "${joined}  join_launches()\n")
expect(0 "correct" run ${WORK}/joined.loopy --set n=1000 --set steps=7 --device host --check)
expect(0 "launches:\n  heat: grid.*launches +- +1\n" explain ${WORK}/joined.loopy --draw joined.dot)
expect(0 "launches" explain ${kernels}/axpy.loopy --draw tree.dot)
file(READ ${WORK}/tree.dot drawing)
if(NOT drawing MATCHES "digraph kernel.*z\\[256")
  message(FATAL_ERROR "rtcg explain --draw wrote:\n${drawing}")
endif()
expect(0 "launches" explain ${kernels}/heat.loopy --draw heat.dot)
file(READ ${WORK}/heat.dot drawing)
if(NOT drawing MATCHES "for t, on the host.*heat_0.t.: grid.*v.256.*heat_1.t.: grid.*u.256")
  message(FATAL_ERROR "rtcg explain --draw wrote:\n${drawing}")
endif()
# Attack 18: SVG is drawn without Graphviz.
expect(0 "launches" explain ${kernels}/heat.loopy --draw tree.svg)
file(READ ${WORK}/tree.svg drawing)
if(NOT drawing MATCHES "^<svg xmlns=.*for t, on the host.*heat_0.t.: grid.*v.256.*</svg>\n$")
  message(FATAL_ERROR "rtcg explain --draw wrote:\n${drawing}")
endif()
expect(1 "tools.explain.unwritable_file" explain ${kernels}/axpy.loopy --draw absent/tree.dot)
# The order of statements: through variables, as stated, around a barrier; `a -> d` follows from others.
file(WRITE ${WORK}/order.loopy "domains {[i]: 0<=i<16}\nstatements\n  x[i] = 2*y[i] {id=a}\n  z[i] = x[i] {id=b}\n  w[i] = 1.0 {id=c, dep=b}\n  v[i] = w[i] + x[i] {id=d}\ntype f32\n")
expect(0 "launches" explain order.loopy --dot order.dot)
file(READ ${WORK}/order.dot drawing)
string(CONCAT expected "^digraph G {\nnode .shape=box, fontname=monospace.;\n0 .label=\"a: .*\".;\n1 .label=\"b: .*\".;\n"
  "2 .label=\"c: .*\".;\n3 .label=\"d: .*\".;\n0->1 +.label=\"x\".;\n1->2 +.style=dashed.;\n2->3 +.label=\"w\".;\n}\n$")
if(NOT drawing MATCHES "${expected}")
  message(FATAL_ERROR "rtcg explain --dot wrote:\n${drawing}")
endif()
expect(1 "tools.explain.unwritable_file" explain ${kernels}/axpy.loopy --dot absent/order.dot)
expect(1 "tools.rtcg.bad_value" run ${kernels}/axpy.loopy --set n)
file(READ ${kernels}/axpy.loopy without_sizes)
string(REGEX REPLACE "sizes [^\n]*\n" "" without_sizes "${without_sizes}")
file(WRITE ${WORK}/without_sizes.loopy "${without_sizes}")
expect(1 "loopy.argument_data.unknown_length" run ${WORK}/without_sizes.loopy)
expect(0 "ms a run" run axpy --device host)
expect(1 "'no_such_kernel' is neither a file nor a kernel of rtcg; the kernels are in '.*share/rtcg/kernels' and '.*share/rtcg/gallery'.*tools.rtcg.unknown_kernel"
  run no_such_kernel)
expect(1 "did you mean 'matmul'.; the kernels are in .*tools.rtcg.unknown_kernel" show matmull)
expect(1 "loopy.read_kernel_file.unreadable" show ./matmull)
expect(0 "correct" run ab-ac-cb --small --check --device host)
expect(0 "ab_ac_cb.const double" show ab-ac-cb --type f64)
expect(0 "[1-9]\n" slicings ab-ac-cb --small --type f64 --count)
expect(1 "'f46' is not a type.*tools.rtcg.bad_type" show ab-ac-cb --type f46)
expect(1 "no section 'type' that --type could replace.*tools.rtcg.bad_type" show ${kernels}/heat.loopy --type f64)
expect(1 "no section 'small'.*tools.rtcg.no_small_sizes" run ${kernels}/heat.loopy --small)
file(WRITE ${WORK}/heat.loopy "${without_sizes}")
expect(1 "can be './heat.loopy' and .*share/rtcg/kernels/heat.loopy.*tools.rtcg.two_kernel_files" run heat)
file(WRITE ${WORK}/wrong_size.loopy "sizes q=3\n${without_sizes}")
expect(1 "'q' is not a parameter of kernel 'axpy'.*loopy.parse_kernel_file.bad_value" run ${WORK}/wrong_size.loopy)
expect(1 "kernel 'matmul' has no scalar 'm' to set: its scalars are n.*tools.rtcg.bad_value"
  run ${kernels}/matmul.loopy --set n=50 --set m=3)
expect(1 "tools.rtcg.bad_value" slicings ${kernels}/matmul.loopy --set n=64 --set m=3)
expect(1 "'n' of kernel 'axpy' is a whole number, not 1.5.*tools.rtcg.bad_value"
  run ${kernels}/axpy.loopy --set n=1.5)
expect(2 "'0' is not a number above 0" run ${kernels}/axpy.loopy --set n=50 --repetitions 0)
expect(2 "tree.png' is neither FILE.svg nor FILE.dot" explain ${kernels}/axpy.loopy --draw tree.png)
set(slicing "j: g.0 l.0*16")
expect(0 "fix_parameters.n:64.*threadIdx" show ${kernels}/matmul.loopy --set n=64 --slicing "${slicing}")
expect(0 "correct" run ${kernels}/matmul.loopy --set n=50 -d host --check --slicing "${slicing}")
expect(0 "grid .*block 16 x 1 x 1" explain ${kernels}/matmul.loopy --slicing "${slicing}")
expect(1 "loopy.parse_slicing.syntax" show ${kernels}/matmul.loopy --slicing "i g.0")
expect(2 "--set requires --slicing" show ${kernels}/matmul.loopy --set n=64)
expect(2 "excludes --slicing" run ${kernels}/matmul.loopy --as-described --slicing "${slicing}")
expect(1 "loopy.read_kernel_file.unreadable" show absent.loopy)
expect(1 "loopy.read_kernel_file.unreadable" show .)
file(WRITE ${WORK}/beyond.loopy "domains {[i]: 0 <= i < 16}
arguments a, b: f32[16]\nstatements a[i + 1] = b[i]\n")
file(WRITE ${WORK}/race.loopy "domains {[i]: 0 <= i < 16}\narguments a, b: f32[16]
statements a[0] = b[i]\ntransform tag_inames(i:l.0)\n")
file(WRITE ${WORK}/typed.loopy "domains {[i]: 0 <= i < 16}\narguments b: f32[16]; k: i32[16]
statements
  # a comment

  b[i] = 2*b[i]
  b[k[i]] = b[b[i]]\n")
# Attack 16: errors about statements name their line.
foreach(command show explain)
  expect(1 "beyond.loopy:3: .*at i = 15 .loopy.check_bounds.out_of_bounds" ${command} beyond.loopy)
  expect(1 "race.loopy:3: .*at i = 1; .*loopy.check_races.write_race" ${command} race.loopy)
  expect(1 "typed.loopy:7: " ${command} typed.loopy)
endforeach()
expect(1 "beyond.loopy:3: " run beyond.loopy -d host)
expect(0 "a.i \\+ 1. = b.i." show beyond.loopy --stage kernel)
expect(1 "wrong.loopy:2: .*loopy.parse_statements.syntax" show wrong.loopy)

# Attack 9: options that may be repeated leave FILE alone.
foreach(option "-I;." "--include-dir;." "-D;X=1" "--define;X" "--flag;-Wall")
  expect(0 "host_shared_object" compile ${option} axpy.c)
  expect(0 "it is stored" cache why ${option} axpy.c)
endforeach()
expect(0 "correct" run -d host --check --set n=50 a=2 ${kernels}/axpy.loopy)
expect(0 "correct" run -d host --check ${kernels}/axpy.loopy --set n=50 a=2)
expect(0 "correct" run -d host --check ${kernels}/axpy.loopy --set=n=50 a=2)
expect(0 "^[0-9]+\n$" slicings --count --vector-widths 1,4 --free-layout a --tile i=16 --set n=64 ${kernels}/matmul.loopy)
# Attack 16: what is no number, or no option, is said.
foreach(value 0x10 inf nan 1e400 1e ten 1,5)
  expect(1 "'${value}' of 'n' .*tools.rtcg.bad_value" run ${kernels}/axpy.loopy -d host --set n=${value})
endforeach()
expect(0 "ms a run" run ${kernels}/axpy.loopy -d host --set n=1e3)
expect(1 "'n=' has no value" run ${kernels}/axpy.loopy -d host --set n=)
expect(1 "'=3' has no name" run ${kernels}/axpy.loopy -d host --set =3)
expect(1 "'n' has no '='" run ${kernels}/axpy.loopy -d host --set n)
expect(1 "'99999999999999999999' of 'n' does not fit into an i64" run ${kernels}/axpy.loopy -d host
  --set n=99999999999999999999)
expect(1 "'n' is set to 4 and to 5" run ${kernels}/axpy.loopy -d host --set n=4 --set n=5)
expect(1 "loop 'j' of kernel 'matmul' has no iterations .j >= 0 and j < -1.: give larger" slicings ${kernels}/matmul.loopy --set n=-1)
expect(1 "has no slicing for these sizes and constraints.*tools.slicings.none" slicings ${kernels}/matmul.loopy --set n=64
  --min-blocks 100000)
expect(2 "'rtcg show' has no option '--targt': did you mean '--target'" show ${kernels}/axpy.loopy
  --targt cuda)
expect(2 "'rtcg list' has no option '--jsn': did you mean '--json'" cache list --jsn)
# Attack 17: JSON of every command that prints, and examples in every help.
expect(0 "\"kernel\": \"axpy\".*\"target\": \"host\".*\"text\": " show ${kernels}/axpy.loopy --target host --json)
expect(0 "\"count\": [0-9]+,.*\"slicing\": \".*\"blocks\": " slicings ${kernels}/matmul.loopy --set n=512 --json)
foreach(command show run explain tune slicings compile devices flux "cache;list" "cache;why" "cache;trim")
  expect(0 "Example.*\n  rtcg " ${command} --help)
endforeach()
if(EXISTS /dev/full)
  # Attack 10: output that is lost is an error.
  foreach(words "show ${kernels}/axpy.loopy" "show ${kernels}/axpy.loopy --json" "devices" "--help"
      "flux 'jump(u)' --fields u" "slicings ${kernels}/matmul.loopy --set n=64 --count" "cache list")
    execute_process(COMMAND sh -c "${RTCG} ${words} > /dev/full" WORKING_DIRECTORY ${WORK}
      RESULT_VARIABLE found ERROR_VARIABLE output)
    if(NOT found EQUAL 1 OR NOT output MATCHES "No space left on device .tools.rtcg.output_lost")
      message(FATAL_ERROR "rtcg ${words} > /dev/full ended with ${found}:\n${output}")
    endif()
  endforeach()
  file(CREATE_LINK /dev/full ${WORK}/full.svg SYMBOLIC)
  expect(1 "No space left on device .tools.explain.unwritable_file" explain ${kernels}/axpy.loopy --draw full.svg)
  expect(1 "No space left on device .tools.compile.unwritable_file" compile axpy.c -o /dev/full)
  if(NOT EXISTS /dev/full)
    message(FATAL_ERROR "rtcg removed a device")
  endif()
endif()
# Defect 25: a kernel of the host that divides an integer by 0 says so before the signal ends it.
file(WRITE ${WORK}/by_zero.loopy "kernel by_zero
domains {[i]: 0 <= i < n}
arguments a: i32[n]; z, n: i32
statements ... c \"\${a[i]} = 7 / \${z};\" {writes=a, reads=z}
")
foreach(words "run by_zero.loopy" "tune by_zero.loopy --budget 60")
  execute_process(COMMAND sh -c "${RTCG} ${words} --set n=64 z=0 -d host" WORKING_DIRECTORY ${WORK}
    RESULT_VARIABLE found OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT found MATCHES "^(136|132)$" OR NOT output MATCHES "divided by 0.*tools.rtcg.integer_division")
    message(FATAL_ERROR "rtcg ${words} should say that it divides by 0, but ended with ${found}:\n${output}")
  endif()
endforeach()
# Attack 11: names of files may be any bytes; none of them reaches the terminal as it is.
execute_process(WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found OUTPUT_VARIABLE output
  ERROR_VARIABLE output COMMAND sh -c "
    odd=$(printf 'odd\\377\\033[31m.c'); cp axpy.c \"$odd\" &&
    ${RTCG} compile \"$odd\" --json && ${RTCG} cache list --json && ${RTCG} cache list &&
    printf '{\"schema\": \"1\"}\\n{\"schema\":[]}\\n' > odd.jsonl &&
    sed -i 's/{\"schema\": \"1\"}/{\"schema\":\"1\"}/' odd.jsonl &&
    ${RTCG} tune ${kernels}/matmul.loopy --set n=16 -d host --max-candidates 1 --wisdom odd.jsonl --log odd.jsonl &&
    ${RTCG} dg wave box:2 -N 1 -d host --json -p \"$(printf 'odd\\377.png')\" &&
    ! ${RTCG} compile \"$(printf 'absent\\033[31m')\" | grep -q x")
string(ASCII 27 escape)
if(NOT found EQUAL 0 OR output MATCHES "${escape}" OR NOT output MATCHES "remembered in odd.jsonl"
    OR NOT output MATCHES "odd.xff.x1b.31m.c.*cannot read 'absent.x1b.31m'")
  message(FATAL_ERROR "with odd names rtcg ended with ${found}:\n${output}")
endif()

# Signals end every command within a second, with its compiler and its temporary files.
file(WRITE ${WORK}/sleeping_cc "#!/bin/sh\nsleep 97 & echo $! > ${WORK}/child.pid; wait\n")
file(CHMOD ${WORK}/sleeping_cc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
foreach(case INT:130 TERM:143 HUP:129)
  string(REPLACE ":" ";" case ${case})
  list(GET case 0 signal)
  list(GET case 1 status)
  execute_process(WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND sh -c "
    rm -rf child.pid temporary; mkdir temporary
    TMPDIR=${WORK}/temporary RTCG_CC=${WORK}/sleeping_cc env --default-signal=INT ${RTCG} compile --no-cache axpy.c & pid=$!
    i=0; while [ ! -s child.pid ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
    begin=$(date +%s%N); kill -${signal} $pid; wait $pid; echo ended with $?
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 3000 ] && echo in time
    [ -z \"$(ls temporary)\" ] && echo nothing left
    case $(cut -d' ' -f3 /proc/$(cat child.pid)/stat 2> /dev/null) in ''|Z) echo no child;; esac")
  if(NOT output MATCHES "ended with ${status}\nin time\nnothing left\nno child")
    message(FATAL_ERROR "after SIG${signal} to rtcg compile:\n${output}")
  endif()
endforeach()
# tune keeps what it has by then.
execute_process(WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND sh -c "
  rm -rf log.jsonl temporary; mkdir temporary
  TMPDIR=${WORK}/temporary env --default-signal=INT ${RTCG} tune ${kernels}/matmul.loopy --set n=200 -d host --budget 1h --log log.jsonl --wisdom stopped.jsonl & pid=$!
  i=0; while [ $(cat log.jsonl 2> /dev/null | wc -l) -lt 3 ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done
  begin=$(date +%s%N); kill -INT $pid; wait $pid; echo ended with $?
  [ $((($(date +%s%N) - begin) / 1000000)) -lt 3000 ] && echo in time
  [ -z \"$(ls temporary)\" ] && echo nothing left")
if(NOT output MATCHES "tried of.*remembered in stopped.jsonl.*ended with 130\nin time\nnothing left")
  message(FATAL_ERROR "after SIGINT to rtcg tune:\n${output}")
endif()
# Attack 7: a search ends though a compiler, or the first result, does not come.
execute_process(WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND sh -c "
  begin=$(date +%s%N)
  RTCG_CC=${WORK}/sleeping_cc ${RTCG} tune ${kernels}/matmul.loopy --set n=200 -d host --budget 1 --fresh --wisdom never.jsonl; echo ended with $?
  [ $((($(date +%s%N) - begin) / 1000000)) -lt 15000 ] && echo in time")
if(NOT output MATCHES "the search ended after.*loopy.tune.nothing_works.*ended with 1\nin time")
  message(FATAL_ERROR "with a compiler that does not end, rtcg tune printed:\n${output}")
endif()

expect(0 "^[0-9][0-9][0-9]+\n" slicings ${kernels}/matmul.loopy --set n=512 --count)
expect(0 "i: g.1.*fetch.*5 of [0-9]+ slicings" slicings ${kernels}/matmul.loopy --set n=512 --list 5)
expect(0 "2 tried of [0-9]+ slicings.*remembered in" tune ${kernels}/matmul.loopy --set n=32
  -d host --max-candidates 2 --report report.html --wisdom wisdom.jsonl)
file(READ ${WORK}/report.html page)
file(READ ${WORK}/wisdom.jsonl wisdom)
if(NOT page MATCHES "<svg.*best so far.*<th>occupancy</th>.*Loops of the winner.*Source of the winner" OR NOT wisdom MATCHES "\"slicing\"")
  message(FATAL_ERROR "rtcg tune wrote:\n${page}\n${wisdom}")
endif()
expect(0 "2 known from an earlier search" tune ${kernels}/matmul.loopy --set n=32 -d host
  --max-candidates 2 --wisdom wisdom.jsonl --export tuned.pack)
expect(0 " 0 known from an earlier search" tune ${kernels}/matmul.loopy --set n=32 -d host
  --max-candidates 2 --wisdom wisdom.jsonl --fresh --cold --search evolutionary)
file(READ ${WORK}/tuned.pack pack)
if(NOT pack MATCHES "\"architecture\":\"host\".*\"binary\":\"f0VMR")
  message(FATAL_ERROR "rtcg tune --export wrote:\n${pack}")
endif()
# defect 18: counts that depend on data stay formulas, the others become numbers
file(WRITE ${WORK}/csr.loopy "domains
  {[i]: 0 <= i < n}
  {[k]: s <= k < e}
statements
  for i
    <i32> s = start[i]
    <i32> e = start[i + 1]
    y[i] = sum(k, v[k]*x[col[k]])
  end
arguments
  start: i32[n + 1]; col: i32[m]; v: f32[m]; x: f32[n]; y: f32[n]; n, m: i32
")
expect(0 "loads of start +20 +20\n.*loads of v +e.n - n.s .*stores to y +10 +10\n" explain csr.loopy --set n=10 m=100)
expect(1 "loopy.statistics.missing_parameter" explain csr.loopy --set m=100)
# attack 13: a folder that cannot be written makes tuning forget, not fail
set(ENV{RTCG_CACHE_DIR} /proc/no-cache-here)
expect(0 "compiling without a cache: .*1 tried of .*not remembered: " tune ${kernels}/matmul.loopy
  --set n=32 -d host --max-candidates 1)
set(ENV{RTCG_CACHE_DIR} ${WORK}/cache)
set(ENV{RTCG_CACHE_MAX_BYTES} 1X)
expect(1 "runtime.environment.not_a_size" cache list)
set(ENV{RTCG_CACHE_MAX_BYTES} "")
set(ENV{RTCG_NO_CACHE} maybe)
expect(1 "runtime.environment.not_a_switch" cache list)
set(ENV{RTCG_NO_CACHE} "")
expect(1 "loopy.tune.unwritable_log" tune ${kernels}/matmul.loopy --set n=32 -d host
  --max-candidates 1 --log /proc/no/such/file)
file(WRITE ${WORK}/notes.txt "my notes\n")
foreach(option --log --wisdom --export)
  expect(1 "notes.txt' is not a file that rtcg tune writes.*loopy.tune.foreign_file"
    tune ${kernels}/matmul.loopy --set n=32 -d host --max-candidates 1 ${option} notes.txt)
endforeach()
file(READ ${WORK}/notes.txt notes)
if(NOT notes STREQUAL "my notes\n")
  message(FATAL_ERROR "rtcg tune wrote into somebody's file:\n${notes}")
endif()
expect(0 "1 tried" tune ${kernels}/matmul.loopy --set n=32 -d host --max-candidates 1
  --workers never --wisdom wisdom.jsonl)
expect(2 "workers" tune ${kernels}/matmul.loopy --set n=32 --workers some)
expect(0 "l.0\\*16.*; i: .*l.1\\*8.*; k: for" slicings ${kernels}/matmul.loopy --set n=64 --list 1 --tile i=16
    --threads i=8 --tile j=64 --threads j=16 --tile k=8 --read a=shared --vector-widths 1)
expect(1 "tools.rtcg.bad_hint" slicings ${kernels}/matmul.loopy --set n=64 --count --tile i)
expect(1 "tools.rtcg.bad_hint" slicings ${kernels}/matmul.loopy --set n=64 --count --tile i=16,x)
expect(1 "tools.rtcg.bad_hint" slicings ${kernels}/matmul.loopy --set n=64 --count --read a=cache)
expect(1 "loopy.slicings.unknown_hint" slicings ${kernels}/matmul.loopy --set n=64 --count
    --tile m=16)
expect(0 "the hints leave out marches .no slicing of them keeps the hints. .tools.slicings.left_out"
  slicings star_25 --set n=64 --count --tile k=48)
expect(0 "32 tried of.*second half of them shortened the best time by [0-9.]+ %" tune
  ${kernels}/matmul.loopy --set n=8 -d host --until-gain 99% --budget 5min --fresh --wisdom gain.jsonl)
foreach(share 0 1 -1% 100% many)
  expect(2 "a share is written as 1% or 0.01" tune ${kernels}/matmul.loopy --set n=32
    --until-gain=${share})
endforeach()
expect(0 "layout a order 1,0" slicings ${kernels}/matmul.loopy --set n=64 --max-items-per-thread 1 --max-threads 32
  --max-shared-bytes 0 --free-layout a --list 1000)
expect(0 "layout b order 0,1 pad 31: b.33, 33. has the strides 64, 1\n" tune
  ${kernels}/matmul.loopy --set n=33 -d host --max-candidates 1 --search exhaustive --free-layout b
  --fresh --wisdom layouts.jsonl)
expect(1 "loopy.slicings.fixed_layout" slicings ${kernels}/matmul.loopy --set n=64 --free-layout q)
expect(0 "\"tried\"" tune ${kernels}/matmul.loopy --set n=32 -d host --max-candidates 1 --json
  --wisdom wisdom.jsonl)
expect(1 "tools.tune.unwritable_file" tune ${kernels}/matmul.loopy --set n=32 -d host
  --max-candidates 1 --report absent/report.html --wisdom wisdom.jsonl)
file(READ ${kernels}/matmul.loopy without_sizes)
string(REGEX REPLACE "sizes [^\n]*\n" "" without_sizes "${without_sizes}")
file(WRITE ${WORK}/without_sizes.loopy "${without_sizes}")
expect(1 "loopy.slicings.missing_parameter" slicings ${WORK}/without_sizes.loopy)
expect(1 "constraints and budget leave none.*loopy.tune.nothing_works" tune ${kernels}/matmul.loopy
  --set n=32 -d host --min-blocks 9999999)
file(WRITE ${WORK}/circle.loopy "domains {[i, j]: 0 <= i, j < n}
type f32
sizes n=8
statements
  a[i] = x[i]
  s[0] = sum(j, a[j])
  b[i] = s[0]*a[i]
")
expect(1 "circle.loopy: the order of statements goes in a circle.*loopy.schedule.unschedulable"
  tune ${WORK}/circle.loopy -d host --budget 1 --wisdom wisdom.jsonl)
expect(1 "circle.loopy: the order of statements goes in a circle.*loopy.schedule.unschedulable"
  slicings ${WORK}/circle.loopy)
expect(2 "'-1' is not a number from 0 on" slicings ${kernels}/matmul.loopy --set n=64 --list -1)

# The kernel file of docs/kernel_files.md and what the page says that this becomes.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../docs/kernel_files.md page)
string(REGEX MATCH "\nkernel matmul\n[^`]*" matmul "${page}")
string(REGEX MATCH "// Made from kernel 'matmul'[^`]*" expected "${page}")
file(WRITE ${WORK}/matmul.loopy "${matmul}")
execute_process(COMMAND ${RTCG} show matmul.loopy --target cuda WORKING_DIRECTORY ${WORK}
  OUTPUT_VARIABLE output)
if("${expected}" STREQUAL "" OR NOT output STREQUAL expected)
  message(FATAL_ERROR "docs/kernel_files.md says that its matmul.loopy becomes\n${expected}\nbut it is\n${output}")
endif()

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
expect(1 "'f' is not a function: there are interior.*pow, penalty" flux "f(jump(u))"
  --fields u)
expect(0 "to be defined before: f.*= f\\(interior.0. - exterior.0.\\)" flux "f(jump(u))"
  --fields u --function f)
expect(1 "'g' has a value or a kind, but is not in the flux" flux "jump(u)" --fields u
  --function g)
expect(1 "'v' is not a field or material; the fields are u.*dg.parse_flux.no_sides"
  flux "jump(v)" --fields u)
expect(1 "zero for all values of the fields e:3.*tools.flux.always_zero" flux "0*jump(e)" --fields e:3)
expect(1 "flux term 'jump\\(e\\) \\+ jump\\(h\\)', before column 18 of the flux.*dg.flux_vector.shape_mismatch"
  flux "jump(e) + jump(h)" --fields e:3,h:2)
expect(1 "flux term 'jump\\(u\\)\\*sqrt\\(-1\\)' contains.*dg.make_evaluators.not_a_number"
  flux "jump(u)*sqrt(-1)" --fields u)
expect(1 "state 'interior.u.' has 1 component, but there are 2 fields.*tools.flux.boundary_count"
  flux "jump(u)" --fields u,v --boundary "interior(u)")
expect(1 "'beta' has a value or a kind, but is not in the flux.*tools.flux.unused_name"
  flux ${maxwell} --fields e:3,h:3 --set beta=1)
expect(1 "'u' has a value or a kind, but it is a field" flux "jump(u)" --fields u --material u)
expect(0 "1 evaluator, 2 flops, 3 numbers read; linear in the fields; given at run time: c"
  flux "c*jump(u)" --fields u)
expect(2 "target" flux "jump(u)" --fields u --target vulkan)
expect(2 "dimension" flux "jump(u)" --fields u --dimension 4)

expect(0 "advection,wave,maxwell.*convergence.*maxwell-tm *pec, pmc, absorbing" dg --help)
expect(0 "48 elements.*error 9.79[0-9]+e-02" dg maxwell box:2 --order 2 --until 0.5 -d host)
expect(0 "error 1.44[0-9]+e-01\nwrote out/tm.png" dg maxwell-tm box:2 -N 1 -d host -p out/tm.png)
expect(0 "\"equation\": \"burgers\".*\"unknowns\": 32,.*\"error\".*\"files\"" dg burgers box:8 --until 0.3 -d host --json
  --perturb 0.2 --dtype f32)
expect(0 "wrote series/wave.pvd\n.*wave_0002.vtu" dg wave box:6 --dimension 1 --every 0.25 --until 0.5 --vtu series -d host
  --start pulse --boundary +x=absorbing --straight)
file(READ ${WORK}/series/wave.pvd series)
if(NOT series MATCHES "timestep=.0.25.*wave_0002.vtu")
  message(FATAL_ERROR "rtcg dg --vtu wrote:\n${series}")
endif()
expect(0 "poisson.*iterations.*error 2.2458[0-9]+e-03" dg poisson box:4 -N 2 -d host -p u.png)
expect(0 "poisson.* 1[0-9][0-9] iterations.*error 1.8185[0-9]+e-04" dg poisson box:4 -N 3 -d host)
expect(0 "poisson.* [0-9][0-9] iterations.*error 1.8185[0-9]+e-04" dg poisson box:4 -N 3 -d host
  --preconditioner block-jacobi)
expect(0 "poisson.* [0-9][0-9][0-9] iterations in [^\n]*s\n$" dg poisson box:4 -N 1 -d host --contrast 1000)
expect(0 "\"method\": \"ldg\"" dg poisson box:3 -N 1 -d host --method ldg --json)
expect(0 "advection, upwind flux, f64, t = 1.*1  1.600790e-01  3.279191e-02 .2.29."
  dg convergence advection --dimension 1 --orders 1 --meshes 4,8 -d host -p rates.png)
expect(0 "\"rate\"" dg convergence poisson --orders 1:2 --meshes 2,4 -d host --json)
# Figures of no machine: 1 us a stage, 1 us for each thousand elements of 210 unknowns.
file(WRITE ${WORK}/scaling.json
"{\"op\":\"halo of 4 KB\",\"impl\":\"exchange\",\"dtype\":\"bytes\",\"n\":4096,\"us\":10}
{\"op\":\"halo of 16384 KB\",\"impl\":\"exchange\",\"dtype\":\"bytes\",\"n\":16777216,\"us\":178}
{\"op\":\"dg strong, GPUs: 1\",\"impl\":\"peer\",\"dtype\":\"f32\",\"n\":1260000,\"us\":35}
{\"op\":\"dg weak, GPUs: 1\",\"impl\":\"peer\",\"dtype\":\"f32\",\"n\":126000000,\"us\":3005}
{\"op\":\"dg weak, GPUs: 2\",\"impl\":\"peer\",\"dtype\":\"f32\",\"n\":252000000,\"us\":3100}\n")
expect(0 "10.0 us and 94 GB/s, between machines 15.0 us.*strong 1.26 M  *1  *0.035 .*weak 126 M each  *2  *3.010 .* 99.8 %  *3.100  *-3 %"
  dg scaling scaling.json --gpus 64 -p scaling.png)
expect(0 "\"gpus\": 64,.*\"efficiency\"" dg scaling scaling.json --gpus 64 --json)
expect(1 "'absent' cannot be read.*tools.dg.bad_measurements" dg scaling absent)
expect(1 "has 0 sizes on one GPU in f64 and 2 sizes of halos.*tools.dg.bad_measurements"
  dg scaling scaling.json --dtype f64)
file(WRITE ${WORK}/none.json "a page of text\n")
expect(1 "a line that is no row of the bench: a page.*tools.dg.bad_measurements" dg scaling none.json)
foreach(picture out/tm.png u.png rates.png scaling.png)
  file(READ ${WORK}/${picture} head LIMIT 4 HEX)
  if(NOT head STREQUAL "89504e47")
    message(FATAL_ERROR "${picture} is not a PNG file")
  endif()
endforeach()
file(WRITE ${WORK}/square.msh "$MeshFormat\n2.2 0 8\n$EndMeshFormat
$PhysicalNames\n1\n1 1 \"wall\"\n$EndPhysicalNames
$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0.5 0.5 0\n$EndNodes
$Elements\n8\n1 1 2 1 1 1 2\n2 1 2 1 1 2 3\n3 1 2 1 1 3 4\n4 1 2 1 1 4 1
5 2 2 0 1 1 2 5\n6 2 2 0 1 2 3 5\n7 2 2 0 1 3 4 5\n8 2 2 0 1 4 1 5\n$EndElements\n")
expect(0 "maxwell-te on 4 elements" dg maxwell-te square.msh --until 0.1 -d host -b wall=pmc)
expect(0 "poisson on 4 elements" dg poisson square.msh -d host)
expect(0 "error 1.44[0-9]+e-01" dg wave box:2 -N 1 -d host --ordering given
  --strategy split)
expect(0 "there is nothing to tune.*error 1.44" dg wave box:2 -N 1 -d host --tune)
expect(0 "error 1.44[0-9]+e-01" dg wave box:2 -N 1 -d host --strategy two)
expect(0 "error 1.44[0-9]+e-01" dg wave box:2 -N 1 -d host --dtype f32 --split-singles)
expect(1 "--split-singles has no effect without --dtype f32" dg wave box:2 --split-singles)

# Ranks, whose results are those of one.
execute_process(COMMAND ${RTCG} dg maxwell box:3 -N 2 -d host --until 0.1 --json OUTPUT_VARIABLE one_rank)
string(REGEX MATCH "\"energy\": [0-9.e+-]+" energy "${one_rank}")
if(energy STREQUAL "")
  message(FATAL_ERROR "rtcg dg maxwell --json printed:\n${one_rank}")
endif()
expect(0 "${energy}" dg maxwell box:3 -N 2 -d host --until 0.1 --json --ranks 3)
expect(0 "\"ranks\": 2.*\"waiting\": \"hosts\".*${energy}" dg maxwell box:3 -N 2 --until 0.1 --json
  --devices host,host --waiting measured)
# ranks that share a device
expect(0 "\"waiting\": \"hosts\"" dg maxwell box:3 -N 2 --until 0.1 --json --ranks 2 --waiting kernels)
# processes, whose kernels store into memory of the others: the file has the bits of one rank
find_program(MPIRUN_OPENMPI mpirun.openmpi)
find_program(MPIRUN_MPICH mpirun.mpich)
foreach(dtype f32 f64)
  expect(0 "energy" dg maxwell box:3 -N 2 -d host --until 0.1 --dtype ${dtype} -c one.checkpoint)
  foreach(launcher ${MPIRUN_OPENMPI} ${MPIRUN_MPICH})
    set(options)
    if(launcher MATCHES openmpi)
      set(options --allow-run-as-root --oversubscribe)
    endif()
    execute_process(COMMAND ${launcher} ${options} -n 3 ${RTCG} dg maxwell box:3 -N 2 -d host --until 0.1
      --dtype ${dtype} --mpi --waiting kernels -c three.checkpoint
      WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)
    file(SHA256 ${WORK}/one.checkpoint one)
    file(SHA256 ${WORK}/three.checkpoint three)
    if(NOT found EQUAL 0 OR NOT output MATCHES "kernels wait" OR NOT one STREQUAL three)
      message(FATAL_ERROR "${launcher} -n 3 rtcg dg --mpi --waiting kernels should have the bits of one rank, but "
        "exited with ${found} and printed:\n${output}")
    endif()
    file(REMOVE ${WORK}/three.checkpoint)
  endforeach()
endforeach()
expect(0 "3 ranks .threads., the first on.*wrote ranks_vtu/wave_0000.pvtu" dg wave box:3 -d host --ranks 3 --until 0.1
  --vtu ranks_vtu -p ranks.png -c ranks.checkpoint)
file(READ ${WORK}/ranks_vtu/wave_0000.pvtu pieces)
if(NOT pieces MATCHES "<Piece Source=\"wave_0000_rank0.vtu\"/>.*<Piece Source=\"wave_0000_rank2.vtu\"/>")
  message(FATAL_ERROR "rtcg dg --ranks 3 --vtu wrote:\n${pieces}")
endif()
expect(0 "error" dg wave box:3 -d host --until 0.2 -r ranks.checkpoint)
expect(1 "tools.dg.bad_ranks" dg wave box:3 --ranks 2 --mpi)
expect(1 "tools.dg.bad_ranks" dg wave box:3 --devices host,host -d host)
expect(1 "--waiting has no effect without --devices" dg wave box:3 --waiting hosts)
expect(1 "--rank-timeout has no effect without --devices" dg wave box:3 --rank-timeout 5)
execute_process(COMMAND ${RTCG} dg poisson box:3 -N 2 -d host --json
  WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE one_rank)
if(NOT one_rank MATCHES "(\"iterations\": [0-9]+,[^,]*\"residual\": [0-9.e-]+)")
  message(FATAL_ERROR "rtcg dg poisson --json printed:\n${one_rank}")
endif()
set(iterations "${CMAKE_MATCH_1}")
string(REGEX MATCH "\"error\": [0-9.e-]+" error "${one_rank}")
expect(0 "\"ranks\": 3.*${iterations}.*${error}" dg poisson box:3 -N 2 -d host --json --ranks 3)
expect(0 "\"ranks\": 2.*${iterations}.*${error}" dg poisson box:3 -N 2 --json --devices host,host)
expect(0 "on 2 ranks .threads.: .*wrote poisson.png" dg poisson box:3 -N 2 -d host --ranks 2
  --contrast 100 --preconditioner block-jacobi -p poisson.png)
expect(1 "runtime.device.not_found|runtime.device.bad_name" dg wave box:3 --devices host,cuda:77)

expect(0 "the energy grew by a factor of [0-9.e+]+, so the run is unstable" dg wave box:4 -d host
  --cfl 100)
expect(0 "error [1-9]\\.[0-9]+e-0[123]" dg burgers -d host)
expect(1 "tools.dg.bad_mesh" dg wave absent.msh)
expect(1 "tools.dg.bad_mesh" dg wave box:3x)
expect(1 "tools.dg.bad_boundary" dg wave box:3 -b wall)
expect(1 "the boundary '-x' has two conditions, 'neumann' and 'dirichlet'" dg wave box:3
  -b -x=neumann -b -x=dirichlet)
expect(1 "dg.make_reference_element.bad_order" dg convergence wave --orders 8:10 --meshes 64)
expect(1 "dg.make_box_mesh.bad_cells" dg convergence advection --orders 9 --meshes 64,2)
expect(1 "tools.dg.unwritable_folder" dg convergence wave --orders 9 --meshes 64 -p /proc/no/u.png)
expect(1 "dg.make_problem.unknown_condition" dg wave box:3 -b +x=pec)
expect(1 "tools.dg.unknown_field" dg wave box:3 --field ez -p u.png)
expect(1 "tools.dg.bad_slice" dg wave box:3 --slice middle -p u.png)
expect(1 "three dimensions, this one has 2.*tools.dg.bad_slice" dg wave box:3 --slice z=0.5 -p u.png)
expect(1 "'x=7' is outside the domain, which extends from 0 to 1.*tools.dg.bad_slice"
  dg maxwell box:1 --slice x=7 -p u.png)
expect(1 "tools.dg.unwritable_folder" dg wave box:2 --vtu /proc/no/folder)
foreach(picture u.jpg u)
  expect(1 "'${picture}' does not end in .png.*tools.dg.bad_picture" dg wave box:3 -p ${picture})
endforeach()
expect(1 "a box of 20000 x 20000 cells is too large" dg wave box:20000x20000)
expect(1 "an equation of 1 dimension, the mesh has 2" dg burgers box:4x4)
expect(1 "'\\+x', but the mesh has no boundaries" dg advection box:4 -b +x=open)
expect(1 "tools.dg.bad_list" dg convergence wave --orders 1-3)
expect(1 "dg.make_problem.bad_dimension" dg maxwell box:2x2 -d host)
expect(1 "dg.checkpoint.unreadable" dg wave box:3 --resume absent -d host)
expect(0 "wave" dg wave box:2 -N 1 -d host --until 0.2 --checkpoint done)
expect(0 "the checkpoint is of t = 0.2, after --until 0.1: no step is left.*0 steps" dg wave box:2
  -N 1 -d host --until 0.1 --resume done)
expect(1 "'poisson' does not use --checkpoint, --until: its options are --order.*--method.*.tools.dg.unused_option"
  dg poisson box:2 --checkpoint kept --until 2)
foreach(option --start=pulse --every=0.1 --boundary=+x=open --resume=kept --cfl=1 --flux=central)
  expect(1 "tools.dg.unused_option" dg poisson box:2 ${option})
endforeach()
expect(1 "'wave' does not use --method" dg wave box:2 --method ldg)
expect(1 "'euler' does not use --flux" dg convergence euler --flux central)
expect(1 "'poisson' does not use --until" dg convergence poisson --until 2)
expect(1 "--every has no effect without --vtu, --picture or --checkpoint" dg wave box:2 --every 0.1)
expect(1 "--slice has no effect without --picture" dg wave box:2 --slice x=0.5)
expect(1 "--perturb has no effect without a box" dg wave square.msh --perturb 0.1)
expect(1 "--every 1e-09 is less than a time step, which is 0.0[0-9]+ long .tools.dg.bad_every"
  dg wave box:2 --every 1e-9 --vtu series -d host)
expect(2 "EQUATION" dg)
expect(2 "EQUATION" dg heat)
expect(2 "'nan' is not a number above 0" dg wave box:2 --cfl nan)
expect(2 "'-1' is not a number from 0 on" dg wave box:2 --until -1)

# Defect 9: curved elements are not straightened without a word.
file(WRITE ${WORK}/curved.msh "$MeshFormat\n2.2 0 8\n$EndMeshFormat
$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0.5 0 0\n5 0.5 0.5 0\n6 0 0.5 0\n$EndNodes
$Elements\n4\n1 1 2 1 1 1 2\n2 1 2 1 1 2 3\n3 1 2 1 1 3 1\n4 9 2 0 1 1 2 3 4 5 6\n$EndElements\n")
expect(1 "triangles of order 2, Gmsh's type 9.*--vertices-only.*dg.read_gmsh.curved" dg wave curved.msh -d host)
expect(0 "wave on 1 element " dg wave curved.msh --vertices-only --until 0.01 -d host)
expect(1 "--vertices-only has no effect without an MSH file" dg wave box:2 --vertices-only)

# Attack 12: what would not end is refused.
file(READ ${WORK}/square.msh flat)
string(REPLACE "5 0.5 0.5 0\n" "5 0.5 1e-320 0\n" flat "${flat}")
file(WRITE ${WORK}/flat.msh "${flat}")
expect(1 "element 5 of the file with nodes 1, 2, 5 of the file has the volume.*find_geometric_factors.degenerate"
  dg wave flat.msh -d host)
string(REPLACE "3 1 1 0\n4 0 1 0\n" "3 1 1e308 0\n4 0 1e308 0\n" flat "${flat}")
file(WRITE ${WORK}/flat.msh "${flat}")
expect(1 "dg.find_geometric_factors.degenerate" dg wave flat.msh -d host)
expect(1 "from t = 0 to --until 1e.300 the run takes .* steps of .*tools.dg.too_many_steps"
  dg wave box:3 --until 1e300 -d host)
expect(1 "more than 5:.*tools.dg.too_many_steps" dg wave box:3 --most-steps 5 -d host)
expect(1 "'poisson' does not use --most-steps" dg poisson box:2 --most-steps 5)

# Attack 6: on a terminal one line, not wider than it, says how far a run is once that has taken two
# seconds; Ctrl-C ends it.
set(endless ${RTCG} dg maxwell box:8 -N 3 -d host --until 1000)
string(JOIN " " endless_line ${endless})
find_program(script script)
if(script)
  execute_process(COMMAND ${script} -qec
      "stty cols 50; timeout -s INT 12 ${endless_line} --checkpoint shown" /dev/null
    WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(ASCII 27 escape)
  string(REPEAT "[^\r\n]" 53 wide)
  string(REGEX REPLACE "rtcg: stopped.*" "" shown "${output}")
  if(NOT output MATCHES "\r${escape}\\[Kt = [0-9.e-]+ of 1000, [0-9]+ s left.*rtcg: stopped at t = .*--resume shown"
      OR shown MATCHES "${wide}")
    message(FATAL_ERROR "rtcg dg shows on a terminal:\n${output}")
  endif()
endif()

# Elsewhere lines say so, and SIGTERM ends the run with a checkpoint; a second signal, of whatever
# kind, ends the process.
execute_process(WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND sh -c "
  for signals in TERM 'TERM INT'; do
    rm -f kept
    ${endless_line} --checkpoint kept > log 2>&1 & pid=$!
    i=0; while ! grep -q 'rtcg: t = ' log && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
    for signal in $signals; do kill -$signal $pid 2> /dev/null; done
    # a run whose steps are all queued takes months
    i=0; while kill -0 $pid 2> /dev/null && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
    kill -KILL $pid 2> /dev/null; wait $pid; echo ended with $?; cat log
    [ \"$signals\" = TERM ] && mv kept whole_checkpoint
  done; true")
if(NOT output MATCHES "ended with 143.*s left.*--resume kept continues.*ended with (143|130)")
  message(FATAL_ERROR "rtcg dg ends otherwise after SIGTERM:\n${output}")
endif()
expect(0 "after --until 0: no step is left" dg maxwell box:8 -N 3 -d host --until 0 --resume whole_checkpoint)
expect(1 "boundary conditions.*dg.checkpoint.mismatch" dg maxwell box:8 -N 3 -d host --resume whole_checkpoint
  -b +x=absorbing)
expect(1 "fluxes.*dg.checkpoint.mismatch" dg maxwell box:8 -N 3 -d host --resume whole_checkpoint --flux central)

# So does the end of what reads its output.
execute_process(WORKING_DIRECTORY ${WORK} OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND bash -c "
  rm -f kept; ${endless_line} --checkpoint kept 2>&1 | head -n 1; echo ended with \${PIPESTATUS[0]}
  [ -s kept ] && echo kept")
if(NOT output MATCHES "ended with 141.*kept")
  message(FATAL_ERROR "rtcg dg ends otherwise where its reader goes away:\n${output}")
endif()

# Killed at any moment, a run goes on from its checkpoint to the same bits; so does one that was
# stopped in the midst of its steps by Ctrl-C, which writes the checkpoint itself.
set(wave ${RTCG} dg wave box:12 -N 3 -d host --start pulse --every 0.05)
string(JOIN " " wave_line ${wave})
foreach(signal KILL INT)
  file(REMOVE ${WORK}/kept ${WORK}/whole ${WORK}/resumed)
  execute_process(WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found OUTPUT_VARIABLE output
    ERROR_VARIABLE output COMMAND sh -c "
      # a shell's background jobs ignore SIGINT, which env takes back
      env --default-signal=INT ${wave_line} --until 1000 --checkpoint kept > /dev/null 2>&1 & pid=$!
      i=0; while [ ! -f kept ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
      kill -${signal} $pid; wait $pid; echo stopped with $?
      begin=$(sed -n 2p kept | head -c 200 | cut -d' ' -f1)
      until=$(printf '%.2f' $begin | awk '{ print int($1 / 0.05 + 1.001) * 0.05 + 0.1 }')
      ${wave_line} --until $until --checkpoint resumed --resume kept &&
      ${wave_line} --until $until --checkpoint whole && cmp resumed whole && echo same bits")
  if(NOT output MATCHES "stopped with (137|130).*same bits")
    message(FATAL_ERROR "after SIG${signal}:\n${output}")
  endif()
endforeach()

# The tables of docs/dg.md are what the program prints; those that take moments are made again. Four
# digits count: other processors may round the rest otherwise.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../docs/dg.md page)
string(REGEX MATCHALL "rtcg dg convergence [^`]*" tables "${page}")
set(compared 0)
foreach(block IN LISTS tables)
  string(REGEX MATCH "^rtcg ([^\n]*)\n(.*)$" call "${block}")
  separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
  set(expected "${CMAKE_MATCH_2}")
  if("${words}" MATCHES "--dimension;1|f32|poisson|maxwell-te")
    execute_process(COMMAND ${RTCG} ${words} -d host WORKING_DIRECTORY ${WORK}
      OUTPUT_VARIABLE output ERROR_VARIABLE progress)
    foreach(text expected output)
      string(REGEX REPLACE "([0-9]\\.[0-9][0-9][0-9])[0-9]+e" "\\1e" ${text} "${${text}}")
      string(STRIP "${${text}}" ${text})
    endforeach()
    if(NOT output STREQUAL expected)
      message(FATAL_ERROR "docs/dg.md says of '${words}'\n${expected}\nbut it prints\n${output}")
    endif()
    math(EXPR compared "${compared} + 1")
  endif()
endforeach()
if(compared LESS 5)
  message(FATAL_ERROR "docs/dg.md has only ${compared} of its tables that can be made again")
endif()

# And a page whose figures are old is made anew, with all that stands around them.
file(WRITE ${WORK}/page.md "[a; b] is kept\n```\n$ rtcg dg convergence advection --dimension 1 --orders 1 --meshes 4,8
old\n```\nand this\n```\n$ rtcg dg wave box:2 --order 1 --picture drawn.png\n$ rtcg dg wave part.msh --vtu out/\n```\nend\n")
execute_process(COMMAND ${CMAKE_COMMAND} -DRTCG=${RTCG} -DPAGE=page.md -DPICTURES=pictures
    -P ${CMAKE_CURRENT_LIST_DIR}/../../scripts/remake_dg_page.cmake
  WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(READ ${WORK}/page.md page)
if(NOT found EQUAL 0 OR NOT EXISTS ${WORK}/pictures/drawn.png OR NOT page MATCHES
    "^\\[a; b\\] is kept\n```\n.*4,8\nadvection, upwind[^\n]*\nN [^\n]*\n1  1\\.600[0-9]+e-01[^\n]*\n```\nand this\n```\n.*part.msh.*end\n$")
  message(FATAL_ERROR "remake_dg_page.cmake ended with ${found}\n${output}\nand left\n${page}")
endif()
