// A program that mpirun starts: does what its first argument says, and prints what the test
// expects.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/distributed/distributed.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Values of the host and of the device take every way there is.
void run_calls(const Group& group) {
  const runtime::Stream stream(group.device());
  const int rank = group.rank();
  const int size = group.size();
  const auto count = std::size_t{20011};
  std::vector<float> mine(count);
  for (std::size_t i = 0; i < count; ++i) {
    mine[i] = 1.0F / static_cast<float>((i + 1) * static_cast<std::size_t>(rank + 3));
  }
  const Buffer<float> values(group.device(), mine);
  all_reduce(group, stream, values, Operation::sum);
  double sum = 0;
  for (const float each : values.to_vector(stream)) {
    sum += each;
  }
  const double small = group.all_reduce(1.0 / (rank + 3), Operation::sum);
  const Buffer<int> words(group.device(), std::vector<int>{rank, 10 * rank});
  const Buffer<int> all(group.device(), 2 * static_cast<std::size_t>(size));
  all_gather(group, stream, words.ref(), all.ref());
  long long checksum = 0;
  for (const int each : all.to_vector(stream)) {
    checksum = checksum * 31 + each;
  }
  const Buffer<int> same(group.device(), std::vector<int>{rank + 5});
  broadcast(group, stream, same.ref(), size - 1);
  const auto gathered = group.all_gather(
      std::as_bytes(std::span<const char>("abcdefgh", static_cast<std::size_t>(rank))));
  group.barrier();
  say(fmt::format("rank {} of {}: {:a} {:a} {} {} {}", rank, size, sum, small, checksum,
                  same.to_vector(stream)[0], gathered.back().size()));
  if (group.is_first()) {
    say("transport " + group.transport());
  }
}

void run_of(const std::string& what, const Group& group) {
  if (what == "calls") {
    run_calls(group);
  } else if (what == "error") {
    if (group.rank() == 1) {
      throw InvalidInput("tests.ranks_program.torn", "the mesh is torn");
    }
    group.barrier();
  } else if (what == "lengths") {
    std::vector<std::byte> bytes(group.is_first() ? 100 : 50);
    group.is_first() ? group.exchange(std::vector<HostSend>{{1, bytes}}, {})
                     : group.exchange({}, std::vector<HostReceive>{{0, bytes}});
    group.barrier();
  } else if (what == "killed") {
    group.barrier();
    if (group.rank() == 2) {
      ::kill(::getpid(), SIGKILL);
    }
    group.barrier();
  } else if (what == "late") {
    if (group.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(20));
    }
    group.barrier();
  } else {
    throw InvalidInput("tests.ranks_program.unknown", "what is '" + what + "'?");
  }
}

}  // namespace
}  // namespace rtcg::distributed

int main(int count, char** arguments) {
  using namespace rtcg::distributed;
  const std::string what = count > 1 ? arguments[1] : "";
  try {
    if (what == "threads") {  // the same as ranks of one process
      run_ranks(std::vector<rtcg::runtime::Device>(4, rtcg::runtime::Device::host()),
                [](const Group& group) { run_of("calls", group); });
      return 0;
    }
    run_mpi([&](const Group& group) { run_of(what, group); },
            {.group = {.timeout_seconds = what == "late" ? 2.0 : 60.0},
             .device = rtcg::runtime::Device::host()});
  } catch (const rtcg::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
