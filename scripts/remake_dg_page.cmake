# Runs the commands of docs/dg.md on the host and replaces what they printed: convergence tables in the
# page, pictures in docs/pictures. Takes some minutes; `git diff` then shows what has changed.
#
#   cmake -DRTCG=build/bin/rtcg -DPAGE=docs/dg.md -DPICTURES=docs/pictures -P scripts/remake_dg_page.cmake
cmake_minimum_required(VERSION 3.25)
foreach(name RTCG PAGE PICTURES)
  if(NOT ${name})
    message(FATAL_ERROR "say -D${name}=...; the head of this file shows a call")
  endif()
  get_filename_component(${name} "${${name}}" ABSOLUTE)
endforeach()
file(MAKE_DIRECTORY ${PICTURES})

# What a line `$ rtcg ...` prints.
function(run_line line result)
  string(REGEX REPLACE "^\\$ rtcg " "" words "${line}")
  separate_arguments(words UNIX_COMMAND "${words}")
  message(STATUS "${line}")
  execute_process(COMMAND ${RTCG} ${words} --device host WORKING_DIRECTORY ${PICTURES}
    RESULT_VARIABLE status OUTPUT_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "'${line}' failed")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# A block with a table is replaced by the command and its output; other commands are run for their
# pictures.
file(READ ${PAGE} rest)
set(page "")
while(TRUE)
  string(FIND "${rest}" "\n$ rtcg dg " begin)
  if(begin EQUAL -1)
    break()
  endif()
  math(EXPR begin "${begin} + 1")
  string(SUBSTRING "${rest}" 0 ${begin} before)
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "```" end)
  string(SUBSTRING "${rest}" 0 ${end} block)
  string(SUBSTRING "${rest}" ${end} -1 rest)
  if(block MATCHES "^(\\$ rtcg dg convergence [^\n]*)\n")
    set(line "${CMAKE_MATCH_1}")
    run_line("${line}" output)
    set(block "${line}\n${output}")
  else()
    string(REGEX MATCHALL "\\$ rtcg dg [^\n]*--picture [^\n]*" lines "${block}")
    foreach(line IN LISTS lines)
      run_line("${line}" output)
    endforeach()
  endif()
  string(APPEND page "${before}${block}")
endwhile()
file(WRITE ${PAGE} "${page}${rest}")

# The picture of lesson 14.
get_filename_component(programs ${RTCG} DIRECTORY)
set(lesson ${programs}/lesson_14_dg_waves_in_glass)
if(EXISTS ${lesson} AND EXISTS ${PICTURES}/waves_in_glass.png)
  set(folder ${PICTURES}/lesson_14)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${folder} ${lesson} RESULT_VARIABLE status
    OUTPUT_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "lesson 14 failed")
  endif()
  file(RENAME ${folder}/rtcg_lesson_14.png ${PICTURES}/waves_in_glass.png)
  file(REMOVE_RECURSE ${folder})
endif()
