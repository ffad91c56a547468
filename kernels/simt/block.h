// One thread block of the shim: its threads as fibers of one OS thread, its shared memory, its
// barriers and its asynchronous copies. A thread runs until it waits; who runs next is drawn from a
// seeded stream, so between two barriers the threads come in any order, and a barrier that is
// missing shows as other bits under some seed. In half of the blocks some warps are favoured for a
// while, so that one runs as far ahead of another as barriers let it. Asynchronous work completes
// at once or as late as it may, drawn as well.
//
// A fault (a barrier that not all threads reach, lanes of one warp in different collectives, a wait
// that nothing can end) ends the block and is told in words. Addresses outside an allocation are
// AddressSanitizer's to find: every buffer, shared memory too, is an allocation of exactly its
// size.
//
// Called by the functions of cuda_language.h and by the instruction models; kernels do not see it.
#ifndef BATCHVAR_KERNELS_SIMT_BLOCK_H_
#define BATCHVAR_KERNELS_SIMT_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "kernels/simt/fiber.h"
#include "sim/base/rng.h"

namespace batchvar::simt {

inline constexpr int kWarpLanes = 32;
inline constexpr int kMaxThreads = 1024;

struct Index3 {
  uint32_t x = 0, y = 0, z = 0;
};

struct BlockShape {
  Index3 threads;
  Index3 block;
  Index3 grid;
  size_t dynamic_shared_bytes = 0;
};

// What the lanes of one group do together: each brings an operand, the last one to arrive acts for
// all. operands[i] is lane i's, null where the lane does not take part.
using CollectiveAction = void (*)(void* const* operands);

class Block {
 public:
  Block();
  ~Block();

  // The block whose thread runs now; a fault to call outside a kernel.
  static Block& Current();

  // Runs `body` once for every thread. "" or what went wrong.
  std::string Run(const BlockShape& shape, uint64_t seed, const std::function<void()>& body);

  // --- what a thread asks for; each returns when it is granted ---

  // bar.sync: waits until `threads` threads (0: all of the block) are at barrier `id`.
  void Barrier(int id, int threads, const std::source_location& where);

  // The lanes of `mask` of this thread's warp act together.
  void WarpCollective(const char* name, uint32_t mask, void* operand, CollectiveAction action,
                      const std::source_location& where);

  // The 128 threads of this thread's warpgroup act together.
  void WarpgroupCollective(const char* name, void* operand, CollectiveAction action,
                           const std::source_location& where);

  // Until `ready` says so; it may be asked at any time.
  void WaitUntil(const char* name, const std::function<bool()>& ready,
                 const std::source_location& where);

  // Runs `work` at some later moment, on nobody's behalf: a copy engine.
  void RunLater(std::function<void()> work) { engine_.push_back(std::move(work)); }

  // Work of this thread that completes at a wait: now, or when its queue is drained so far. Groups
  // are closed by Commit, and DrainTo leaves the `pending` youngest ones alone. Matrices are added
  // in the order in which they are asked for, copies come in any.
  enum Queue { kCopies, kMatrices, kNumQueues };
  void RunDuring(Queue queue, std::function<void()> work);
  void Commit(Queue queue);
  void DrainTo(Queue queue, int pending);

  // Ends the block with these words: every thread is unwound.
  [[noreturn]] void Fault(const std::string& words, const std::source_location& where);

  // Shared memory. A fresh block finds bytes of kJunk in it.
  static constexpr uint8_t kJunk = 0xFB;
  uint8_t* dynamic_shared() const { return dynamic_shared_; }
  size_t dynamic_shared_bytes() const { return shape_.dynamic_shared_bytes; }
  // The static variable that `key` (its address is its name) stands for.
  void* StaticShared(const void* key, size_t bytes, size_t alignment);
  size_t static_shared_bytes() const { return static_shared_bytes_; }

  int thread() const { return running_; }  // its number within the block
  uint64_t Draw(uint64_t below) { return random_.NextBelow(below); }

 private:
  struct Group {
    std::vector<std::function<void()>> work;
  };
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    bool waiting = false;
    const char* waits_for = "";
    std::source_location where;
    const std::function<bool()>* ready = nullptr;  // asked by the scheduler, if not null
    std::deque<Group> groups[kNumQueues];
    Group open[kNumQueues];
  };
  // A barrier or a collective that some have reached.
  struct Meeting {
    const char* name = "";
    uint64_t key = 0;  // barrier number, or warp and mask
    std::source_location where;
    std::vector<int> arrived;
    std::vector<void*> operands;
    int expected = 0;
  };

  static void EnterThread(void* block);
  void Prepare(const BlockShape& shape, uint64_t seed);
  void Loop();
  bool RunSomething();
  size_t DrawReady();
  bool WakeReady();
  void MakeReady(int thread);
  void RunAll(Queue queue);
  void Unwind();
  void Suspend();
  void Wait(const char* name, const std::source_location& where);
  void Meet(const char* name, uint64_t key, int expected, int place, void* operand,
            CollectiveAction action, const std::source_location& where);
  Meeting& FindMeeting(const char* name, uint64_t key, int expected,
                       const std::source_location& where);
  void SetIndices(int thread) const;
  std::string StuckWords() const;

  BlockShape shape_;
  RandomStream random_{0, "simt"};
  const std::function<void()>* body_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<int> ready_;
  std::vector<Meeting> meetings_;
  std::vector<std::function<void()>> engine_;
  std::map<const void*, std::unique_ptr<void, void (*)(void*)>> static_shared_;
  size_t static_shared_bytes_ = 0;
  uint8_t* dynamic_shared_ = nullptr;
  int num_threads_ = 0;
  int running_ = -1;
  int finished_ = 0;
  bool favours_warps_ = false;
  std::vector<uint64_t> warp_ranks_;  // the higher, the sooner; drawn anew now and then
  int asked_ = 0;                     // waiting threads that have a condition
  bool ending_ = false;               // after a fault: whoever is resumed unwinds
  std::string fault_;
};

// "kernels/cuda/gemm.cu:12", for messages.
std::string PlaceWords(const std::source_location& where);

}  // namespace batchvar::simt

#endif  // BATCHVAR_KERNELS_SIMT_BLOCK_H_
