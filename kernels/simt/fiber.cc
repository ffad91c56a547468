#include "kernels/simt/fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace batchvar::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// What AddressSanitizer has to know before a switch and after it. `fake_stack` keeps what it needs
// of the stack that is left; null when that stack is finished.
void LeavingStack([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* next_bottom,
                  [[maybe_unused]] size_t next_bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake_stack, next_bottom, next_bytes);
#endif
}

void ArrivedOnStack([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** left_bottom,
                    [[maybe_unused]] size_t* left_bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, left_bottom, left_bytes);
#endif
}

}  // namespace

Fiber::Fiber(size_t stack_bytes) : allocator_(stack_bytes), stack_(allocator_.allocate()) {
#if defined(__SANITIZE_THREAD__)
  thread_sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(thread_sanitizer_fiber_);
#endif
  allocator_.deallocate(stack_);
}

void Fiber::Start(void (*entry)(void*), void* argument) {
#if defined(__SANITIZE_ADDRESS__)
  // Frames that were never left are still marked. The lowest page guards the stack.
  constexpr size_t kGuardBytes = 4096;
  __asan_unpoison_memory_region(static_cast<char*>(stack_.sp) - stack_.size + kGuardBytes,
                                stack_.size - kGuardBytes);
#endif
  entry_ = entry;
  argument_ = argument;
  done_ = false;
  context_ = make_fcontext(stack_.sp, stack_.size, &Fiber::Enter);
}

void Fiber::Resume() {
  void* fake_stack = nullptr;
  LeavingStack(&fake_stack, static_cast<char*>(stack_.sp) - stack_.size, stack_.size);
#if defined(__SANITIZE_THREAD__)
  thread_sanitizer_caller_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_sanitizer_fiber_, 0);
#endif
  context_ = jump_fcontext(context_, this).fctx;
  ArrivedOnStack(fake_stack, nullptr, nullptr);
}

void Fiber::Suspend() {
  void* fake_stack = nullptr;
  LeavingStack(&fake_stack, caller_stack_, caller_stack_bytes_);
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(thread_sanitizer_caller_, 0);
#endif
  caller_ = jump_fcontext(caller_, nullptr).fctx;
  ArrivedOnStack(fake_stack, &caller_stack_, &caller_stack_bytes_);
}

void Fiber::Enter(transfer_t transfer) {
  Fiber* self = static_cast<Fiber*>(transfer.data);
  self->caller_ = transfer.fctx;
  ArrivedOnStack(nullptr, &self->caller_stack_, &self->caller_stack_bytes_);
  self->entry_(self->argument_);
  self->done_ = true;
  LeavingStack(nullptr, self->caller_stack_, self->caller_stack_bytes_);
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(self->thread_sanitizer_caller_, 0);
#endif
  jump_fcontext(self->caller_, nullptr);
}

}  // namespace batchvar::simt
