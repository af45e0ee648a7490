# rtcg reduce on planted failures: what is left is the failure, and little else.
#   cmake -DRTCG=... -DWORK=... -P reduce_test.cmake
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{RTCG_CACHE_DIR} ${WORK}/cache)

# reduce(STATUS LIMIT_BYTES PATTERN_OF_THE_FILE PATTERN_OF_ERRORS arguments...)
function(reduce status limit pattern errors_pattern)
  execute_process(COMMAND ${RTCG} reduce ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found
    OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  string(LENGTH "${output}" bytes)
  if(NOT found EQUAL status OR NOT output MATCHES "${pattern}" OR bytes GREATER limit
      OR NOT errors MATCHES "${errors_pattern}")
    message(FATAL_ERROR "rtcg reduce ${ARGN}\nshould exit with ${status}, print '${pattern}' in at "
      "most ${limit} bytes and say '${errors_pattern}', but exited with ${found}, printed "
      "${bytes} bytes:\n${output}\nand said:\n${errors}")
  endif()
endfunction()

# one refused step among ten harmless ones
file(WRITE ${WORK}/step.loopy "# planted
kernel planted
domains
  {[i, j]: 0 <= i < n and 0 <= j < m}
  {[k]: 0 <= k < 100}
arguments
  a, out: f32[n, m]; b: f32[m]; c, d: f64[100]; n, m: i32
assume
  n >= 1 and m >= 1
statements
  out[i, j] = 2*a[i, j] + b[j]*(1 + a[i, j]*3)
  c[k] = d[k] + 17
  for i
    b[i] = 4 {if=i < 3}
  end
transform
  split_iname(i, 16, outer_tag=g.0)
  split_iname(j, 8)
  assume(\"n >= 4\")
  prioritize_loops(j_outer, j_inner)
  split_iname(k, 10, inner_tag=unr)
  split_iname(k_outer, 5)
  rename_iname(j_inner, jj)
  split_iname(absent, 4, inner_tag=l.0)
  tag_inames(i_inner:l.0)
  tag_inames(k_outer_inner:ilp)
  prioritize_loops(k_outer_outer, k_outer_inner)
")
reduce(0 220 "loopy.split_iname.unknown_iname.*\n *split_iname\\(absent, [0-9]+\\)\n$" "from [0-9]+ to"
  step.loopy)

# one statement of four that is refused, by its code
file(WRITE ${WORK}/race.loopy "domains
  {[i, j]: 0 <= i < n and 0 <= j < 64}
arguments
  a, out: f32[n, 64]; total: f32[4]; scale: f32
statements
  out[i, j] = a[i, j]*scale + 1
  out[i, j] = if(a[i, j] > 2, out[i, j], 3*out[i, j])
  total[0] = a[i, j] + out[i, j]*(a[i, 0] + 2)
transform
  tag_inames(i:g.0)
  tag_inames(j:l.0)
")
reduce(0 320 "write_race.*statements\n *total.0. = [^\n]*\ntransform\n[^\n]*tag_inames" ""
  race.loopy --code loopy.check_races.write_race)
reduce(1 0 "" "race.loopy' fails with loopy.check_races.write_race.*tools.reduce.does_not_fail"
  race.loopy --code loopy.check_bounds.out_of_bounds)

file(WRITE ${WORK}/right.loopy "domains {[i]: 0 <= i < 64}\nstatements a[i] = i\n")
reduce(1 0 "" "right.loopy' does not fail.*tools.reduce.does_not_fail" right.loopy)
# The loader and the library take some descriptors: one of these limits leaves none for a process.
set(errors "")
foreach(limit RANGE 4 24)
  execute_process(COMMAND sh -c "ulimit -n ${limit} && exec ${RTCG} reduce right.loopy"
    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE found ERROR_VARIABLE errors)
  if(errors MATCHES "tools.reduce.no_process")
    break()
  endif()
endforeach()
if(NOT found EQUAL 1 OR NOT errors MATCHES "tools.reduce.no_process")
  message(FATAL_ERROR "without files to open, rtcg reduce exited with ${found} and said:\n${errors}")
endif()
reduce(1 0 "" "loopy.read_kernel_file.unreadable" absent.loopy)
reduce(2 0 "" "'0' is not a number above 0" race.loopy --budget 0)
reduce(0 2000 "fails with" "" race.loopy --budget 0.001)
reduce(0 4000 "Shrink a kernel file" "" --help)
