#include "tests/support/cuda_on_cpu/run_grid.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::testing {

namespace {

constexpr char canary = '\xc9';
constexpr std::size_t canary_bytes = 4096;
constexpr std::size_t most_shared_bytes = 232448;
constexpr std::size_t most_threads = 1024;
constexpr std::size_t most_blocks_at_once = 64;

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

/// Threads that wait for grids. A thread that is made for one launch would map and protect the
/// stacks of a block's threads for it, which takes longer than a small grid.
class Team {
 public:
  /// The process's own; a process that was forked has none of its parent's threads.
  static Team& instance() {
    static std::mutex mutex;
    static Team* team = nullptr;  // never destroyed: its threads wait until the process ends
    static pid_t owner = 0;
    const std::lock_guard lock(mutex);
    if (owner != ::getpid()) {
      team = new Team;
      owner = ::getpid();
    }
    return *team;
  }

  /// Runs `work` on so many threads, of which the caller is one, and waits for all.
  void run(std::size_t threads, const std::function<void()>& work) {
    if (threads <= 1) {
      work();
      return;
    }
    const std::lock_guard one_grid(grid_);
    {
      const std::lock_guard lock(mutex_);
      for (; size_ + 1 < threads; ++size_) {
        std::thread([this] { wait_for_work(); }).detach();
      }
      work_ = &work;
      open_ = threads - 1;
      busy_ = threads - 1;
    }
    is_changed_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    is_changed_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void wait_for_work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      is_changed_.wait(lock, [this] { return open_ > 0; });
      --open_;
      const std::function<void()>& work = *work_;
      lock.unlock();
      work();
      lock.lock();
      if (--busy_ == 0) {
        is_changed_.notify_all();
      }
    }
  }

  std::mutex grid_;   // held while a grid runs
  std::mutex mutex_;  // of all below
  std::condition_variable is_changed_;
  const std::function<void()>* work_ = nullptr;
  std::size_t size_ = 0;  ///< threads
  std::size_t open_ = 0;  ///< of them are to begin
  std::size_t busy_ = 0;  ///< of them have not ended
};

std::size_t product(const unsigned (&sizes)[3]) {
  return std::size_t{sizes[0]} * sizes[1] * sizes[2];
}

bool has_clusters(const GridCall& call) {
  return call.cluster != std::array<unsigned, 3>{1, 1, 1};
}

/// Whether all blocks run at once.
bool is_together(const GridCall& call, const CudaOnCpuLaunch& launch) {
  return launch.is_cooperative || has_clusters(call);
}

void check_launch(const GridCall& call, const CudaOnCpuLaunch& launch) {
  const std::size_t threads = product(launch.block);
  if (is_together(call, launch) && product(launch.grid) > most_blocks_at_once) {
    throw InvalidInput("tests.cuda_on_cpu.bad_launch",
                       fmt::format("a launch that is cooperative or has clusters has at most {} "
                                   "blocks, found {}",
                                   most_blocks_at_once, product(launch.grid)));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] % call.cluster[axis] != 0) {
      throw InvalidInput("tests.cuda_on_cpu.bad_launch",
                         fmt::format("a grid consists of whole clusters, found {} blocks and "
                                     "clusters of {}",
                                     launch.grid[axis], call.cluster[axis]));
    }
  }
  if (threads == 0 || threads > most_threads || product(launch.grid) == 0 ||
      launch.shared_bytes > most_shared_bytes) {
    throw InvalidInput("tests.cuda_on_cpu.bad_launch",
                       fmt::format("a launch needs 1 to {} threads a block, a block and at most {} "
                                   "bytes of shared memory, found {} threads and {} bytes",
                                   most_threads, most_shared_bytes, threads, launch.shared_bytes));
  }
}

/// Where the blocks of a cooperative launch wait for each other.
class GridBarrier {
 public:
  explicit GridBarrier(std::size_t blocks) : blocks_(blocks) {}

  void wait() {
    std::unique_lock lock(mutex_);
    if (ended_ > 0) {
      is_broken_ = true;
      is_changed_.notify_all();
    }
    const std::size_t round = round_;
    if (++arrived_ == blocks_) {
      arrived_ = 0;
      ++round_;
      is_changed_.notify_all();
      return;
    }
    is_changed_.wait(lock, [&] { return round_ != round || is_broken_; });
  }
  /// Of a block that has ended: nobody may wait for it any more.
  void leave() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    is_broken_ = is_broken_ || arrived_ > 0;
    is_changed_.notify_all();
  }
  /// Lets all blocks go on, whatever they do then.
  void give_up() {
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
    is_changed_.notify_all();
  }
  [[nodiscard]] bool is_broken() {
    const std::lock_guard lock(mutex_);
    return is_broken_;
  }

  static void wait_for_grid() { current->wait(); }
  static thread_local GridBarrier* current;

 private:
  const std::size_t blocks_;
  std::mutex mutex_;  // of all below
  std::condition_variable is_changed_;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::size_t round_ = 0;
  bool is_broken_ = false;
};
thread_local GridBarrier* GridBarrier::current = nullptr;

/// The blocks of one cluster.
class Cluster {
 public:
  explicit Cluster(std::size_t blocks) : barrier(blocks), states_(blocks) {}

  void begin(unsigned rank, const rtcg_cuda::State& state) {
    const std::lock_guard lock(mutex_);
    states_[rank] = state;
  }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(states_.size()); }
  /// Null: that block has not begun, or there is none of that rank.
  [[nodiscard]] void* of_block(void* own, unsigned from, unsigned to) {
    const std::lock_guard lock(mutex_);
    if (to >= size() || states_[to].calls == nullptr) {
      return nullptr;
    }
    const rtcg_cuda::State& a = states_[from];
    const rtcg_cuda::State& b = states_[to];
    auto* const place = static_cast<char*>(own);
    return place >= a.static_shared && place < a.static_shared_end
               ? b.static_shared + (place - a.static_shared)
               : b.dynamic_shared + (place - a.dynamic_shared);
  }

  GridBarrier barrier;

 private:
  std::mutex mutex_;
  std::vector<rtcg_cuda::State> states_;
};

// Where the calling thread of the CPU is.
thread_local Cluster* current_cluster = nullptr;
thread_local unsigned current_rank = 0;

/// The blocks of one launch and the team that runs them.
class Grid {
 public:
  Grid(const GridCall& call, const CudaOnCpuLaunch& launch, const CudaOnCpuSchedule& schedule)
      : call_(call), launch_(launch), schedule_(schedule), blocks_(product(launch.grid)) {
    std::uint32_t random = schedule.seed;
    next_order(schedule, &random, &blocks_);
    const std::size_t each = std::size_t{call.cluster[0]} * call.cluster[1] * call.cluster[2];
    for (std::size_t i = 0; has_clusters(call) && i < blocks_.size() / each; ++i) {
      clusters_.emplace_back(each);
    }
  }

  void run() {
    const std::size_t team = is_together(call_, launch_)
                                 ? blocks_.size()
                                 : std::min<std::size_t>(schedule_.team, blocks_.size());
    Team::instance().run(team, [this] { work(); });
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    const auto is_broken = [](Cluster& each) { return each.barrier.is_broken(); };
    if (std::any_of(clusters_.begin(), clusters_.end(), is_broken)) {
      throw InvalidInput("tests.cuda_on_cpu.divergent_barrier",
                         fmt::format("the blocks of kernel '{}' do not meet at each barrier of "
                                     "their cluster",
                                     call_.kernel));
    }
    if (barrier_.is_broken()) {
      throw InvalidInput("tests.cuda_on_cpu.divergent_barrier",
                         fmt::format("the blocks of kernel '{}' do not meet at each barrier of the "
                                     "grid",
                                     call_.kernel));
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
        barrier_.leave();
        if (current_cluster != nullptr) {
          current_cluster->barrier.leave();
        }
      } catch (...) {
        barrier_.give_up();
        for (Cluster& each : clusters_) {
          each.barrier.give_up();
        }
        const std::lock_guard lock(mutex_);
        if (place < failed_place_) {
          failed_place_ = place;
          failure_ = std::current_exception();
        }
        next_ = blocks_.size();
      }
    }
  }

  void run_one(std::size_t number) {
    GridBarrier::current = &barrier_;
    Worker& worker = Worker::current(product(launch_.block));
    rtcg_cuda::State& state = *call_.state();
    const unsigned* grid = launch_.grid;
    state.grid_size = {grid[0], grid[1], grid[2]};
    state.block_size = {launch_.block[0], launch_.block[1], launch_.block[2]};
    state.block = {static_cast<unsigned>(number % grid[0]),
                   static_cast<unsigned>(number / grid[0] % grid[1]),
                   static_cast<unsigned>(number / grid[0] / grid[1])};
    state.dynamic_shared = worker.dynamic_shared->bytes;
    state.wait_for_grid = launch_.is_cooperative ? &GridBarrier::wait_for_grid : nullptr;
    std::fill(state.static_shared, state.static_shared_end, static_cast<char>(schedule_.poison));
    std::memset(state.dynamic_shared, schedule_.poison, launch_.shared_bytes);
    std::memset(state.dynamic_shared + launch_.shared_bytes, canary, canary_bytes);
    join_cluster(state);
    run_block(state, call_.call, call_.arguments, schedule_, *worker.stacks);
    check_shared(state);
  }

  void join_cluster(const rtcg_cuda::State& state) {
    current_cluster = nullptr;
    if (clusters_.empty()) {
      return;
    }
    const auto& [x, y, z] = call_.cluster;
    const rtcg_cuda::Index at = state.block;
    const unsigned across = state.grid_size.x / x;
    const unsigned down = state.grid_size.y / y;
    current_cluster = &clusters_[at.x / x + across * (at.y / y + std::size_t{down} * (at.z / z))];
    current_rank = at.x % x + x * (at.y % y + y * (at.z % z));
    rtcg_cuda::State begun = state;
    static const rtcg_cuda::Calls any{};
    begun.calls = &any;
    current_cluster->begin(current_rank, begun);
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
  GridBarrier barrier_{blocks_.size()};
  std::deque<Cluster> clusters_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::size_t failed_place_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

const rtcg_cuda::ClusterCalls& cluster_calls() {
  static const rtcg_cuda::ClusterCalls calls = {
      [] { current_cluster->barrier.wait(); }, [] { return current_rank; },
      [] { return current_cluster->size(); },
      [](void* own, unsigned rank) { return current_cluster->of_block(own, current_rank, rank); }};
  return calls;
}

void run_grid(const GridCall& grid, const CudaOnCpuLaunch& launch,
              const CudaOnCpuSchedule& schedule) {
  check_launch(grid, launch);
  Grid(grid, launch, schedule).run();
}

}  // namespace rtcg::testing
