// One CUDA thread of the shim: a function on a stack of its own that gives up the processor where
// it waits. Switching costs tens of nanoseconds and tells AddressSanitizer and ThreadSanitizer
// which stack runs, so both work on kernels. Not for use across OS threads: whoever resumes a fiber
// is the one it returns to. Used by block.h only.
//
// It stands on Boost.Context's jump itself and not on boost::context::fiber, because that class
// switches stacks once while it is made, and a sanitizer has to be told of every switch.
#ifndef BATCHVAR_KERNELS_SIMT_FIBER_H_
#define BATCHVAR_KERNELS_SIMT_FIBER_H_

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>

namespace batchvar::simt {

class Fiber {
 public:
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares entry(argument) to run at the next Resume. What an earlier entry left unfinished is
  // dropped without unwinding: kernels own nothing.
  void Start(void (*entry)(void*), void* argument);

  // Runs the fiber until it suspends itself or its entry returns. Not from within a fiber.
  void Resume();

  // From within: back to whoever resumed it.
  void Suspend();

  bool done() const { return done_; }

 private:
  static void Enter(boost::context::detail::transfer_t transfer);

  boost::context::protected_fixedsize_stack allocator_;
  boost::context::stack_context stack_;
  boost::context::detail::fcontext_t context_ = nullptr;  // where to go on
  boost::context::detail::fcontext_t caller_ = nullptr;   // where to return to
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool done_ = true;
  // For the sanitizers.
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
  void* thread_sanitizer_fiber_ = nullptr;
  void* thread_sanitizer_caller_ = nullptr;
};

}  // namespace batchvar::simt

#endif  // BATCHVAR_KERNELS_SIMT_FIBER_H_
