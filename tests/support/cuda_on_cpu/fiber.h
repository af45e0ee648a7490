#pragma once

#include <cstddef>
#include <memory>

namespace rtcg::testing {

/// Stacks for fibers, each with an unmapped page below it.
///
/// Only the thread that made it may use it.
class FiberStacks {
 public:
  static constexpr std::size_t stack_bytes = 64 * 1024;

  explicit FiberStacks(std::size_t count);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The lowest usable byte of one stack.
  [[nodiscard]] std::byte* stack(std::size_t number) const noexcept;

 private:
  std::size_t count_;
  std::byte* memory_;
};

/// A function with a stack of its own, which runs whenever it is resumed until it suspends itself.
///
/// A suspended fiber may be dropped: what its frames hold is then not destroyed. No exception may
/// leave the function. The stack must outlive the fiber.
class Fiber {
 public:
  using Function = void (*)(void*);
  Fiber(std::byte* stack, Function function, void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs on until the next `suspend` or the end of the function.
  void resume();
  /// Called inside the fiber: goes back to whoever resumed it.
  void suspend();
  [[nodiscard]] bool is_finished() const noexcept;

  struct Context;

 private:
  std::unique_ptr<Context> context_;
};

}  // namespace rtcg::testing
