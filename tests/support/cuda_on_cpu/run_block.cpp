#include "tests/support/cuda_on_cpu/run_block.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::testing {

namespace {

constexpr std::size_t warp_lanes = 32;

std::uint32_t next_random(std::uint32_t* random) {
  *random = *random * 1664525U + 1013904223U;
  return *random >> 8;
}

struct Thread {
  enum class Wait { none, barrier, warp };
  std::optional<Fiber> fiber;
  rtcg_cuda::Index index{};
  Wait wait = Wait::none;
  int line = 0;
  int predicate = 0;
  unsigned mask = 0;
  unsigned present = 0;
  unsigned long long brought = 0;
  unsigned long long received[warp_lanes] = {};
};

class Block {
 public:
  Block(rtcg_cuda::State& state, void (*call)(void**), void** arguments, FiberStacks& stacks);

  void run(const CudaOnCpuSchedule& schedule);

 private:
  static rtcg_cuda::Calls::Votes barrier(int line, int predicate);
  static const unsigned long long* exchange(int line, unsigned mask, unsigned long long value,
                                            unsigned* present);
  static void run_thread(void* block) {
    auto& self = *static_cast<Block*>(block);
    self.call_(self.arguments_);
  }

  bool run_turn(const std::vector<std::size_t>& order);
  bool release_warps();
  bool release_lanes_of(std::size_t number);
  void release_barrier();
  [[noreturn]] void throw_divergent() const;

  rtcg_cuda::State& state_;
  void (*call_)(void**);
  void** arguments_;
  std::vector<Thread> threads_;
  Thread* running_ = nullptr;
  rtcg_cuda::Calls::Votes votes_{};
};

// The kernel's calls carry no pointer to their block.
thread_local Block* running_block = nullptr;

Block::Block(rtcg_cuda::State& state, void (*call)(void**), void** arguments, FiberStacks& stacks)
    : state_(state), call_(call), arguments_(arguments) {
  static const rtcg_cuda::Calls calls{&Block::barrier, &Block::exchange};
  state_.calls = &calls;
  const rtcg_cuda::Index size = state.block_size;
  threads_ = std::vector<Thread>(std::size_t{size.x} * size.y * size.z);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const auto flat = static_cast<unsigned>(i);
    threads_[i].index = {flat % size.x, flat / size.x % size.y, flat / size.x / size.y};
    threads_[i].fiber.emplace(stacks.stack(i), &Block::run_thread, this);
  }
}

rtcg_cuda::Calls::Votes Block::barrier(int line, int predicate) {
  Block& block = *running_block;
  Thread& thread = *block.running_;
  thread.wait = Thread::Wait::barrier;
  thread.line = line;
  thread.predicate = predicate;
  thread.fiber->suspend();
  return block.votes_;
}

const unsigned long long* Block::exchange(int line, unsigned mask, unsigned long long value,
                                          unsigned* present) {
  Thread& thread = *running_block->running_;
  thread.wait = Thread::Wait::warp;
  thread.line = line;
  thread.mask = mask;
  thread.brought = value;
  thread.fiber->suspend();
  *present = thread.present;
  return thread.received;
}

bool Block::run_turn(const std::vector<std::size_t>& order) {
  bool any = false;
  for (const std::size_t i : order) {
    Thread& thread = threads_[i];
    if (thread.wait != Thread::Wait::none || thread.fiber->is_finished()) {
      continue;
    }
    any = true;
    running_ = &thread;
    state_.thread = thread.index;
    thread.fiber->resume();
  }
  return any;
}

// Lanes that have finished, or that the block has not, take no part: so it is on the device.
bool Block::release_lanes_of(std::size_t number) {
  const std::size_t first = number / warp_lanes * warp_lanes;
  const std::size_t lanes = std::min(warp_lanes, threads_.size() - first);
  const Thread& asking = threads_[number];
  unsigned present = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const Thread& other = threads_[first + lane];
    if ((asking.mask >> lane & 1U) == 0 || other.fiber->is_finished()) {
      continue;
    }
    if (other.wait != Thread::Wait::warp || other.mask != asking.mask) {
      return false;
    }
    present |= 1U << lane;
  }
  if ((present >> (number - first) & 1U) == 0) {
    return false;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    Thread& to = threads_[first + lane];
    if ((present >> lane & 1U) == 0) {
      continue;
    }
    to.wait = Thread::Wait::none;
    to.present = present;
    for (std::size_t from = 0; from < lanes; ++from) {
      to.received[from] = threads_[first + from].brought;
    }
  }
  return true;
}

bool Block::release_warps() {
  bool any = false;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].fiber->is_finished() && threads_[i].wait == Thread::Wait::warp) {
      any = release_lanes_of(i) || any;
    }
  }
  return any;
}

void Block::release_barrier() {
  const int line = threads_.front().line;
  votes_ = {0, static_cast<int>(threads_.size())};
  for (const Thread& thread : threads_) {
    if (thread.fiber->is_finished() || thread.wait != Thread::Wait::barrier ||
        thread.line != line) {
      throw_divergent();
    }
    votes_.count += thread.predicate != 0 ? 1 : 0;
  }
  for (Thread& thread : threads_) {
    thread.wait = Thread::Wait::none;
  }
}

void Block::throw_divergent() const {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const Thread& thread : threads_) {
    const std::string what =
        thread.fiber->is_finished()
            ? "finished"
            : fmt::format("at a {} in line {}",
                          thread.wait == Thread::Wait::barrier ? "barrier" : "warp operation",
                          thread.line);
    const auto same = [&](const auto& group) { return group.first == what; };
    if (std::none_of(groups.begin(), groups.end(), same)) {
      const rtcg_cuda::Index i = thread.index;
      groups.emplace_back(what, fmt::format("({}, {}, {})", i.x, i.y, i.z));
    }
  }
  std::string text;
  for (const auto& [what, who] : groups) {
    text += fmt::format("{}thread {} {}", text.empty() ? "" : ", ", who, what);
  }
  const rtcg_cuda::Index block = state_.block;
  throw InvalidInput("tests.cuda_on_cpu.divergent_barrier",
                     fmt::format("the threads of block ({}, {}, {}) do not meet at one barrier: {}",
                                 block.x, block.y, block.z, text));
}

void Block::run(const CudaOnCpuSchedule& schedule) {
  running_block = this;
  std::uint32_t random = schedule.seed;
  std::vector<std::size_t> order(threads_.size());
  const auto finished = [](const Thread& thread) { return thread.fiber->is_finished(); };
  for (;;) {
    next_order(schedule, &random, &order);
    const bool ran = run_turn(order);
    if (std::all_of(threads_.begin(), threads_.end(), finished)) {
      return;
    }
    if (!release_warps() && !ran) {
      release_barrier();
    }
  }
}

}  // namespace

void next_order(const CudaOnCpuSchedule& schedule, std::uint32_t* random,
                std::vector<std::size_t>* order) {
  std::iota(order->begin(), order->end(), std::size_t{0});
  if (schedule.order == CudaOnCpuSchedule::Order::reverse) {
    std::reverse(order->begin(), order->end());
  } else if (schedule.order == CudaOnCpuSchedule::Order::random) {
    for (std::size_t i = order->size(); i > 1; --i) {
      std::swap((*order)[i - 1], (*order)[next_random(random) % i]);
    }
  }
}

void run_block(rtcg_cuda::State& state, void (*call)(void**), void** arguments,
               const CudaOnCpuSchedule& schedule, FiberStacks& stacks) {
  Block(state, call, arguments, stacks).run(schedule);
}

}  // namespace rtcg::testing
