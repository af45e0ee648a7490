// A program that mpirun starts: does what its first argument says, and prints what the test
// expects.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/distributed/arrays/reductions.h"
#include "rtcg/distributed/distributed.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/distributed/group/store_rounds.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/program.h"
#include "tests/distributed/arrays/poisson_rows.h"

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

// Conjugate gradients on a matrix whose rows are distributed.
void run_solver(const Group& group) {
  const runtime::Stream stream(group.device());
  const arrays::StreamScope scope(stream);
  const DistributedMatrix a = testing::poisson<double>(group, 8);
  const DistributedArray b(group, a.dtype(), {a.blocks().length()});
  // no function: its last bits depend on where a vector of the processor begins
  b.assign(1.0 / (1.0 + 0.01 * arrays::Expression(b.places())));
  const arrays::Solution found = conjugate_gradients(a, b, {.tolerance = 1e-9});
  const DistributedArray x(group, a.dtype(), b.shape());
  x.assign(found.x);
  const double product = dot(x, b).item<double>();
  double weighted = 0;
  std::int64_t place = 0;
  for (const double each : x.gathered().to_vector<double>()) {
    weighted += each * static_cast<double>(++place % 7);
  }
  if (group.is_first()) {
    say(fmt::format("solved {} {:a} {:a} {:a}", found.iterations, found.residual, product,
                    weighted));
  }
}

// Each reads what the next one has, without a copy of its own process.
void share_memory(const Group& group) {
  const runtime::Device device = group.device();
  if (device.info().id.kind != runtime::BackendKind::cuda) {
    say("no GPU");
    return;
  }
  const runtime::Stream stream(device);
  const Buffer<int> values(device, std::vector<int>{100 * group.rank(), 100 * group.rank() + 1});
  const runtime::InterprocessEvent ready(device);
  stream.record(ready);
  struct Handles {
    runtime::MemoryHandle memory;
    runtime::InterprocessHandle event;
  };
  const std::vector<Handles> own = {
      {runtime::export_memory(values.ref().as<const std::byte>()), ready.handle()}};
  const auto all = group.all_gather(bytes_of(own));
  const int next = (group.rank() + 1) % group.size();
  const Handles theirs = values_of<Handles>(all[static_cast<std::size_t>(next)])[0];
  {
    const runtime::InterprocessEvent is_ready(device, theirs.event);
    const runtime::ImportedMemory memory(device, theirs.memory);
    stream.wait(is_ready);
    const Buffer<int> copy(device, 2);
    runtime::copy_on_device(stream, memory.ref(), copy.ref().as<std::byte>());
    const std::vector<int> found = copy.to_vector(stream);
    say(fmt::format("rank {} read {} {}", group.rank(), found[0], found[1]));
  }
  group.barrier();  // the memory stays until all have read it
}

// A round waits for the partners' last one, makes a number of its own one and theirs, and stores it
// into their memory, which has room for two rounds.
runtime::Program round_program(const runtime::Device& device) {
  const char* const of_host = R"(#include <rtcg/host_kernel.h>
extern int sched_yield(void);
#define ARGUMENT(type, i) (*(type *)arguments[i])
RTCG_KERNEL void one_round(const rtcg_launch *launch, void *const *arguments) {
  const int rank = ARGUMENT(int, 0), size = ARGUMENT(int, 1);
  const volatile unsigned *given_up = ARGUMENT(unsigned *, 2);
  unsigned *own = ARGUMENT(unsigned *, 3);
  volatile unsigned *const *all = ARGUMENT(volatile unsigned *const *, 4);
  (void)launch;
#define WAIT sched_yield()
#define FENCE __sync_synchronize()
)";
  const char* const of_cuda = R"(extern "C" __global__ void one_round(int rank, int size,
    const volatile unsigned *given_up, unsigned *own, volatile unsigned *const *all) {
#define WAIT
#define FENCE __threadfence_system()
)";
  const char* const both = R"(
  volatile unsigned *mine = all[rank];
  const unsigned round = own[0];
  for (int other = 0; other < size; ++other)
    while (other != rank && (int)(mine[other] - round) < 0 && *given_up == 0u) { WAIT; }
  FENCE;
  unsigned value = own[1] * 3u + 1u;
  for (int other = 0; other < size; ++other)
    if (other != rank) value += (unsigned)(other + 1) * mine[size + (round % 2u) * size + other];
  own[1] = value;
  for (int other = 0; other < size; ++other)
    if (other != rank) all[other][size + ((round + 1u) % 2u) * size + rank] = value;
  FENCE;
  own[0] = round + 1u;
  for (int other = 0; other < size; ++other)
    if (other != rank) all[other][rank] = round + 1u;
}
)";
  const bool is_on_host = device.info().id.kind == runtime::BackendKind::host;
  return runtime::Program::compile(device, std::string(is_on_host ? of_host : of_cuda) + both);
}

// What the rounds give on one rank.
unsigned number_after(int rounds, int size, int rank) {
  std::vector<unsigned> now(static_cast<std::size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    std::vector<unsigned> next;
    for (std::size_t i = 0; i < now.size(); ++i) {
      unsigned value = now[i] * 3U + 1U;
      for (std::size_t other = 0; other < now.size(); ++other) {
        value += other == i ? 0U : static_cast<unsigned>(other + 1) * now[other];
      }
      next.push_back(value);
    }
    now = next;
  }
  return now[static_cast<std::size_t>(rank)];
}

// @param at  called before each round
void store_to_others(const Group& group, const std::function<void(int round)>& at) {
  constexpr int round_count = 400;
  const runtime::Device device = group.device();
  std::vector<int> partners;
  for (int other = 0; other < group.size(); ++other) {
    if (other != group.rank()) {
      partners.push_back(other);
    }
  }
  const std::unique_ptr<StoreRounds> rounds = open_store_rounds(group, partners, "test stores");
  if (rounds == nullptr) {
    say("hosts wait");
    return;
  }
  const std::size_t words = 3 * static_cast<std::size_t>(group.size());
  const auto mine = std::make_shared<const Buffer<unsigned>>(
      runtime::shareable_memory(device, words * sizeof(unsigned)));
  mine->write(std::vector<unsigned>(words));
  const auto theirs = rounds->trade(std::vector<std::vector<std::byte>>(partners.size()),
                                    std::vector{mine->ref().as<std::byte>()}, mine);
  if (group.all_reduce(std::int64_t{theirs.has_value()}, Operation::min) == 0) {
    say("no memory of others");
    return;
  }
  std::vector<runtime::DeviceAddress> all;
  for (const StoreRounds::Given& each : *theirs) {
    all.push_back(each.memory[0].address());
  }
  all.insert(all.begin() + group.rank(), mine->address());
  const Buffer<runtime::DeviceAddress> table(device, all);
  const Buffer<unsigned> own(device, std::vector<unsigned>{0, 0});
  const runtime::Kernel kernel = round_program(device).kernel("one_round");
  const runtime::Stream stream(device);
  rounds->tell(stream);
  for (int round = 0; round < round_count; ++round) {
    at(round);
    rounds->replay(1, [&] {
      runtime::ArgumentPack pack;
      pack.add(group.rank()).add(group.size()).add(rounds->given_up()).add(own).add(table);
      kernel.launch(stream, {1, 1}, pack);
    });
  }
  const unsigned found = own.to_vector(stream)[1];
  say(fmt::format("rank {} stored {}", group.rank(),
                  found == number_after(round_count, group.size(), group.rank()) ? "well" : "ill"));
}

void run_of(const std::string& what, const Group& group) {
  if (what == "calls") {
    run_calls(group);
  } else if (what == "solve") {
    run_solver(group);
  } else if (what == "share") {
    share_memory(group);
  } else if (what == "who_waits") {
    std::string line = fmt::format("rank {}:", group.rank());
    for (const Waiting wanted :
         {Waiting::hosts, Waiting::devices, Waiting::measured, Waiting::kernels}) {
      const Group other =
          mpi_group({.group = {.waiting = wanted}, .device = runtime::Device::host()});
      line += fmt::format(" {}", to_string(waiting_of(other)));
    }
    say(line);
  } else if (what == "stores") {
    store_to_others(group, [](int) {});
    store_to_others(group, [](int) {});  // after the memory of the first ones
  } else if (what == "stores_error") {
    store_to_others(group, [&](int round) {
      if (group.rank() == 1 && round == 50) {
        throw InvalidInput("tests.ranks_program.torn", "the mesh is torn");
      }
    });
  } else if (what == "stores_killed") {
    store_to_others(group, [&](int round) {
      if (group.rank() == 1 && round == 50) {
        ::kill(::getpid(), SIGKILL);
      }
    });
  } else if (what == "stores_late") {
    store_to_others(group, [&](int round) {
      if (group.rank() == 1 && round == 50) {
        std::this_thread::sleep_for(std::chrono::seconds(20));
      }
    });
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
  const bool is_on_gpus = what == "share" || (count > 2 && std::string(arguments[2]) == "gpus");
  try {
    if (what == "threads") {  // the same as ranks of one process
      run_ranks(std::vector<rtcg::runtime::Device>(4, rtcg::runtime::Device::host()),
                [&](const Group& group) { run_of(arguments[2], group); });
      return 0;
    }
    run_mpi([&](const Group& group) { run_of(what, group); },
            {.group = {.timeout_seconds = what.ends_with("late") ? 2.0 : 60.0,
                       .waiting = Waiting::kernels},
             .device = is_on_gpus ? std::nullopt : std::optional(rtcg::runtime::Device::host())});
  } catch (const rtcg::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
