#include "tests/support/cuda_on_cpu/fiber.h"

#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define RTCG_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RTCG_FIBER_ASAN 1
#endif
#endif
#ifdef RTCG_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(RTCG_FIBER_UCONTEXT)
#define RTCG_FIBER_ASSEMBLER 1
// Stores the registers that a call keeps, and the stack pointer; loads the other side's. ucontext
// would make a system call a switch.
asm(R"(
.text
.globl rtcg_switch_stack
.hidden rtcg_switch_stack
.type rtcg_switch_stack, @function
rtcg_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rtcg_switch_stack, .-rtcg_switch_stack
)");
extern "C" void rtcg_switch_stack(void** save_here, void* load_this);
#endif

namespace rtcg::testing {

namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t step_bytes = FiberStacks::stack_bytes + guard_bytes;

}  // namespace

FiberStacks::FiberStacks(std::size_t count) : count_(count) {
  void* memory = mmap(nullptr, count * step_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < count; ++i) {
    mprotect(memory_ + i * step_bytes, guard_bytes, PROT_NONE);
  }
}

FiberStacks::~FiberStacks() {
  munmap(memory_, count_ * step_bytes);
}

std::byte* FiberStacks::stack(std::size_t number) const noexcept {
  return memory_ + number * step_bytes + guard_bytes;
}

struct Fiber::Context {
  Function function;
  void* argument;
  std::byte* stack;
  bool finished = false;
#ifdef RTCG_FIBER_ASSEMBLER
  void* own = nullptr;
  void* caller = nullptr;
#else
  ucontext_t own;
  ucontext_t caller;
#endif
#ifdef RTCG_FIBER_ASAN
  void* own_fake_stack = nullptr;
  void* caller_fake_stack = nullptr;
  const void* caller_stack = nullptr;
  std::size_t caller_stack_bytes = 0;
#endif

  void enter() {
#ifdef RTCG_FIBER_ASAN
    __sanitizer_start_switch_fiber(&caller_fake_stack, stack, FiberStacks::stack_bytes);
#endif
#ifdef RTCG_FIBER_ASSEMBLER
    rtcg_switch_stack(&caller, own);
#else
    swapcontext(&caller, &own);
#endif
#ifdef RTCG_FIBER_ASAN
    __sanitizer_finish_switch_fiber(caller_fake_stack, nullptr, nullptr);
#endif
  }

  void leave() {
#ifdef RTCG_FIBER_ASAN
    __sanitizer_start_switch_fiber(finished ? nullptr : &own_fake_stack, caller_stack,
                                   caller_stack_bytes);
#endif
#ifdef RTCG_FIBER_ASSEMBLER
    rtcg_switch_stack(&own, caller);
#else
    swapcontext(&own, &caller);
#endif
    arrived(own_fake());
  }

#ifdef RTCG_FIBER_ASAN
  void* own_fake() const {
    return own_fake_stack;
  }
  void arrived(void* fake) {
    __sanitizer_finish_switch_fiber(fake, &caller_stack, &caller_stack_bytes);
  }
#else
  void* own_fake() const {
    return nullptr;
  }
  void arrived(void* /*fake*/) {}
#endif
};

namespace {

// The context a new fiber starts with: a first switch carries no argument.
thread_local Fiber::Context* starting = nullptr;

void start() {
  Fiber::Context& context = *starting;
  context.arrived(nullptr);
  context.function(context.argument);
  context.finished = true;
  context.leave();
}

}  // namespace

Fiber::Fiber(std::byte* stack, Function function, void* argument)
    : context_(std::make_unique<Context>()) {
  context_->function = function;
  context_->argument = argument;
  context_->stack = stack;
#ifdef RTCG_FIBER_ASSEMBLER
  // `ret` takes the entry from the stack; a function expects rsp to be 8 above a multiple of 16.
  auto* top = reinterpret_cast<std::uintptr_t*>(stack + FiberStacks::stack_bytes);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&start);
  for (int i = 0; i < 6; ++i) {
    *--top = 0;
  }
  context_->own = top;
#else
  getcontext(&context_->own);
  context_->own.uc_stack.ss_sp = stack;
  context_->own.uc_stack.ss_size = FiberStacks::stack_bytes;
  context_->own.uc_link = nullptr;
  makecontext(&context_->own, &start, 0);
#endif
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  starting = context_.get();
  context_->enter();
}

void Fiber::suspend() {
  context_->leave();
}

bool Fiber::is_finished() const noexcept {
  return context_->finished;
}

}  // namespace rtcg::testing
