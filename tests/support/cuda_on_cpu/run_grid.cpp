#include "tests/support/cuda_on_cpu/run_grid.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::testing {

namespace {

constexpr char canary = '\xc9';
constexpr std::size_t canary_bytes = 4096;
constexpr std::size_t most_shared_bytes = 232448;
constexpr std::size_t most_threads = 1024;

/// What a thread of the CPU needs to run blocks; kept from launch to launch, because texts remember
/// where their dynamic shared memory is.
struct Worker {
  struct alignas(1024) SharedMemory {
    char bytes[most_shared_bytes + canary_bytes];
  };
  std::unique_ptr<SharedMemory> dynamic_shared{new SharedMemory};
  std::optional<FiberStacks> stacks;

  static Worker& current(std::size_t threads) {
    thread_local Worker worker;
    if (!worker.stacks || worker.stacks->count() < threads) {
      worker.stacks.emplace(threads);
    }
    return worker;
  }
};

std::size_t product(const unsigned (&sizes)[3]) {
  return std::size_t{sizes[0]} * sizes[1] * sizes[2];
}

void check_launch(const CudaOnCpuLaunch& launch) {
  const std::size_t threads = product(launch.block);
  if (threads == 0 || threads > most_threads || product(launch.grid) == 0 ||
      launch.shared_bytes > most_shared_bytes) {
    throw InvalidInput("tests.cuda_on_cpu.bad_launch",
                       fmt::format("a launch needs 1 to {} threads a block, a block and at most {} "
                                   "bytes of shared memory, found {} threads and {} bytes",
                                   most_threads, most_shared_bytes, threads, launch.shared_bytes));
  }
}

/// The blocks of one launch and the team that runs them.
class Grid {
 public:
  Grid(const GridCall& call, const CudaOnCpuLaunch& launch, const CudaOnCpuSchedule& schedule)
      : call_(call), launch_(launch), schedule_(schedule), blocks_(product(launch.grid)) {
    std::uint32_t random = schedule.seed;
    next_order(schedule, &random, &blocks_);
  }

  void run() {
    const std::size_t team = std::min<std::size_t>(schedule_.team, blocks_.size());
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < team; ++i) {
      others.emplace_back([this] { work(); });
    }
    work();
    for (std::thread& other : others) {
      other.join();
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  // Takes blocks until there are none left, or one has failed: those before it are taken by then.
  void work() {
    for (;;) {
      const std::size_t place = next_.fetch_add(1);
      if (place >= blocks_.size()) {
        return;
      }
      try {
        run_one(blocks_[place]);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (place < failed_place_) {
          failed_place_ = place;
          failure_ = std::current_exception();
        }
        next_ = blocks_.size();
      }
    }
  }

  void run_one(std::size_t number) const {
    Worker& worker = Worker::current(product(launch_.block));
    rtcg_cuda::State& state = *call_.state();
    const unsigned* grid = launch_.grid;
    state.grid_size = {grid[0], grid[1], grid[2]};
    state.block_size = {launch_.block[0], launch_.block[1], launch_.block[2]};
    state.block = {static_cast<unsigned>(number % grid[0]),
                   static_cast<unsigned>(number / grid[0] % grid[1]),
                   static_cast<unsigned>(number / grid[0] / grid[1])};
    state.dynamic_shared = worker.dynamic_shared->bytes;
    std::fill(state.static_shared, state.static_shared_end, static_cast<char>(schedule_.poison));
    std::memset(state.dynamic_shared, schedule_.poison, launch_.shared_bytes);
    std::memset(state.dynamic_shared + launch_.shared_bytes, canary, canary_bytes);
    run_block(state, call_.call, call_.arguments, schedule_, *worker.stacks);
    check_shared(state);
  }

  void check_shared(const rtcg_cuda::State& state) const {
    const char* first = state.dynamic_shared + launch_.shared_bytes;
    const char* end = first + canary_bytes;
    const char* found = std::find_if(first, end, [](char c) { return c != canary; });
    if (found != end) {
      throw InvalidInput(
          "tests.cuda_on_cpu.out_of_bounds",
          fmt::format("kernel '{}' wrote at byte {} of its {} bytes of dynamic "
                      "shared memory",
                      call_.kernel, found - state.dynamic_shared, launch_.shared_bytes));
    }
  }

  const GridCall& call_;
  const CudaOnCpuLaunch& launch_;
  const CudaOnCpuSchedule& schedule_;
  std::vector<std::size_t> blocks_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t failed_place_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

void run_grid(const GridCall& grid, const CudaOnCpuLaunch& launch,
              const CudaOnCpuSchedule& schedule) {
  check_launch(launch);
  Grid(grid, launch, schedule).run();
}

}  // namespace rtcg::testing
