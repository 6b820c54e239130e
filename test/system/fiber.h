// SPDX-License-Identifier: Apache-2.0
//
// Fiber: a stack of its own for something that waits in the middle of what it does.
#pragma once

#include <ucontext.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace dray::system::internal {

// One thread.
class Fiber {
 public:
  explicit Fiber(std::function<void()> run);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it waits or has ended. Not from a fiber.
  void Resume();
  // From the fiber: goes back to who has resumed it.
  void Leave();
  bool ended() const { return ended_; }
  // Whose it is, and until when that one stands still; null: nobody's.
  std::shared_ptr<const std::chrono::nanoseconds> stands_until;

 private:
  static void Begin(unsigned high, unsigned low);
  void Run();

  std::function<void()> run_;
  bool ended_ = false;
  void* stack_ = nullptr;
  ucontext_t here_{};
  // Whose stack it is on is left empty: the address sanitizer looks, and then knows that it does not know.
  ucontext_t there_{};
  void* fake_stack_ = nullptr;         // of the address sanitizer
  const void* outer_stack_ = nullptr;  // likewise
  std::size_t outer_size_ = 0;
  void* sanitizer_fiber_ = nullptr;  // of the thread sanitizer
  void* sanitizer_outer_ = nullptr;
};

}  // namespace dray::system::internal
