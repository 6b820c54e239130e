// SPDX-License-Identifier: Apache-2.0
#include "system/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define DRAY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DRAY_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define DRAY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DRAY_TSAN 1
#endif
#endif
#ifdef DRAY_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DRAY_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace dray::system::internal {
namespace {

// What a decider needs at its deepest, and much more; memory that is not used is not taken. Sanitizers
// put gaps between what is on a stack.
#if defined(DRAY_ASAN) || defined(DRAY_TSAN)
constexpr std::size_t kStack = 4u << 20;
#else
constexpr std::size_t kStack = 1u << 20;
#endif
constexpr std::size_t kGuard = 4096;

// Stacks are many and short-lived.
std::vector<void*>& FreeStacks() {
  static std::vector<void*> stacks;
  return stacks;
}

void* TakeStack() {
  std::vector<void*>& free = FreeStacks();
  if (!free.empty()) {
    void* const stack = free.back();
    free.pop_back();
    return stack;
  }
  void* const memory = ::mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  DRAY_CHECK(memory != MAP_FAILED);
  DRAY_CHECK(::mprotect(memory, kGuard, PROT_NONE) == 0);
  return memory;
}

}  // namespace

Fiber::Fiber(std::function<void()> run) : run_(std::move(run)), stack_(TakeStack()) {
  DRAY_CHECK(::getcontext(&here_) == 0);
  here_.uc_stack.ss_sp = static_cast<char*>(stack_) + kGuard;
  here_.uc_stack.ss_size = kStack;
  here_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&here_, reinterpret_cast<void (*)()>(&Fiber::Begin), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self & 0xffffffffU));
#ifdef DRAY_TSAN
  sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef DRAY_TSAN
  __tsan_destroy_fiber(sanitizer_fiber_);
#endif
  FreeStacks().push_back(stack_);
}

void Fiber::Begin(unsigned high, unsigned low) {
  const std::uintptr_t self = (static_cast<std::uintptr_t>(high) << 32) | low;
  reinterpret_cast<Fiber*>(self)->Run();
}

void Fiber::Run() {
#ifdef DRAY_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &outer_stack_, &outer_size_);
#endif
  run_();
  run_ = nullptr;
  ended_ = true;
  Leave();
}

void Fiber::Resume() {
#ifdef DRAY_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, here_.uc_stack.ss_sp, here_.uc_stack.ss_size);
#endif
#ifdef DRAY_TSAN
  sanitizer_outer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_fiber_, 0);
#endif
  DRAY_CHECK(::swapcontext(&there_, &here_) == 0);
#ifdef DRAY_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::Leave() {
#ifdef DRAY_ASAN
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack_, outer_stack_, outer_size_);
#endif
#ifdef DRAY_TSAN
  __tsan_switch_to_fiber(sanitizer_outer_, 0);
#endif
  DRAY_CHECK(::swapcontext(&here_, &there_) == 0);
#ifdef DRAY_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &outer_stack_, &outer_size_);
#endif
}

}  // namespace dray::system::internal
