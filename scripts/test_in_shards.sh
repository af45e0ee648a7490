#!/usr/bin/env bash
# Runs the test programs of a build folder in shards, side by side, and sums up what they found.
#
#   scripts/test_in_shards.sh [options] [program...]       default: every *_tests of the build folder
#
#   --build DIR      build folder (build)
#   --jobs N         shards that run at once (the number of processors)
#   --shards N       shards of each program (the number of jobs; a program with few tests has empty ones)
#   --seconds S      time limit of a shard (600); a single test has none, or RTCG_TEST_SECONDS
#   --filter F       which tests, as --gtest_filter takes it (all)
#   --wrap CMD       runs each shard under CMD, for instance
#                    "compute-sanitizer --tool memcheck --error-exitcode 9"
#   --logs DIR       where each shard's output goes (DIR of the build folder: shard_logs)
#
# Prints a line for each shard that failed, the names of the tests that failed, and last the sums.
# Status: 0 if every shard passed, else 1.
#
# Examples:
#   scripts/test_in_shards.sh --build build-asan                       all programs under asan and ubsan
#   RTCG_TEST_DEVICES=cuda scripts/test_in_shards.sh --wrap "compute-sanitizer --tool racecheck" dg_tests
#                    the same kernels on no other device (host, opencl, cuda, cuda_on_cpu: all)
set -euo pipefail

build=build jobs=$(nproc) shards= seconds=600 filter='*' wrap= logs= programs=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,23p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    --build | --jobs | --shards | --seconds | --filter | --wrap | --logs)
      [ $# -ge 2 ] || { echo "option '$1' has no value" >&2; exit 2; }
      declare "${1#--}=$2"; shift 2 ;;
    -*) echo "unknown option '$1': see --help" >&2; exit 2 ;;
    *) programs+=("$1"); shift ;;
  esac
done
shards=${shards:-$jobs}
logs=${logs:-$build/shard_logs}
if [ ${#programs[@]} -eq 0 ]; then
  for path in "$build"/bin/*_tests; do programs+=("$(basename "$path")"); done
fi
for program in "${programs[@]}"; do
  [ -x "$build/bin/$program" ] || { echo "'$build/bin/$program' is not there: build it first" >&2; exit 2; }
done
rm -rf "$logs"
mkdir -p "$logs"

run_shard() { # program index
  local log="$logs/$1.$2.log" status=0
  # shellcheck disable=SC2086  # the wrapper is several words
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$2 timeout "$seconds" $wrap "$build/bin/$1" \
    --gtest_brief=1 --gtest_filter="$filter" > "$log" 2>&1 || status=$?
  echo "$status" > "$logs/$1.$2.status"
  [ "$status" -eq 0 ] || echo "$1, shard $2 of $shards: status $status$([ "$status" -ne 124 ] || echo ', time limit')"
}
export -f run_shard
export build shards seconds filter wrap logs RTCG_TEST_SECONDS=${RTCG_TEST_SECONDS:-0}

for program in "${programs[@]}"; do
  for ((i = 0; i < shards; i++)); do echo "$program $i"; done
done | xargs -P "$jobs" -L 1 bash -c 'run_shard "$0" "$1"'

grep -h '^\[  FAILED  \] [A-Za-z]*' "$logs"/*.log | sed 's/ ([0-9]* ms)$//' | sort -u || true
count() { sed -n "s/^\[  $1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" "$logs"/*.log | awk '{ sum += $1 } END { print sum + 0 }'; }
bad=$(grep -Lx 0 "$logs"/*.status | wc -l)
echo "$(count PASSED) tests passed, $(count SKIPPED) skipped; $bad of $((${#programs[@]} * shards)) shards failed"
[ "$bad" -eq 0 ]
