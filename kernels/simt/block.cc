#include "kernels/simt/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "kernels/simt/cuda_language.h"
#include "sim/base/check.h"

namespace batchvar::simt {
namespace {

// Frames under AddressSanitizer are several times as large. Pages that are not touched cost
// nothing.
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kDynamicSharedAlignment = 1024;

thread_local Block* current_block = nullptr;

// Thrown in a kernel's thread to leave it.
struct Ended {};

void* AllocateJunk(size_t alignment, size_t bytes) {
  // posix_memalign takes any size, so that AddressSanitizer knows the exact end.
  void* memory = nullptr;
  BV_CHECK(
      posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max<size_t>(bytes, 1)) == 0);
  std::memset(memory, Block::kJunk, bytes);
  return memory;
}

}  // namespace

std::string PlaceWords(const std::source_location& where) {
  const std::string file = where.file_name();
  const size_t begin = std::min(file.rfind("kernels/"), file.rfind("tests/kernels/"));
  return (begin == std::string::npos ? file : file.substr(begin)) + ":" +
         std::to_string(where.line());
}

Block::Block() = default;
Block::~Block() { std::free(dynamic_shared_); }

Block& Block::Current() {
  BV_CHECK(current_block != nullptr);
  return *current_block;
}

std::string Block::Run(const BlockShape& shape, uint64_t seed, const std::function<void()>& body) {
  BV_CHECK(current_block == nullptr);
  body_ = &body;
  Prepare(shape, seed);
  current_block = this;
  Loop();
  if (!fault_.empty()) Unwind();
  current_block = nullptr;
  std::free(dynamic_shared_);
  dynamic_shared_ = nullptr;
  static_shared_.clear();
  return fault_;
}

void Block::Prepare(const BlockShape& shape, uint64_t seed) {
  shape_ = shape;
  random_ = RandomStream(seed, "simt");
  num_threads_ = static_cast<int>(shape.threads.x * shape.threads.y * shape.threads.z);
  BV_CHECK(num_threads_ >= 1 && num_threads_ <= kMaxThreads);
  if (threads_.size() < static_cast<size_t>(num_threads_)) threads_.resize(num_threads_);
  dynamic_shared_ =
      static_cast<uint8_t*>(AllocateJunk(kDynamicSharedAlignment, shape.dynamic_shared_bytes));
  static_shared_bytes_ = 0;
  fault_.clear();
  ready_.clear();
  meetings_.clear();
  engine_.clear();
  finished_ = 0;
  asked_ = 0;
  ending_ = false;
  favours_warps_ = random_.NextBelow(2) == 0;
  warp_ranks_.resize(num_threads_ / kWarpLanes + 1);
  for (uint64_t& rank : warp_ranks_) rank = random_.NextU64();
  for (int t = 0; t < num_threads_; ++t) {
    Thread& thread = threads_[t];
    if (thread.fiber == nullptr) thread.fiber = std::make_unique<Fiber>(kStackBytes);
    thread.ready = nullptr;  // a block that ended with a fault leaves threads that waited
    for (int q = 0; q < kNumQueues; ++q) {
      thread.groups[q].clear();
      thread.open[q].work.clear();
    }
    thread.fiber->Start(&Block::EnterThread, this);
    MakeReady(t);
  }
}

void Block::EnterThread(void* block) {
  Block* self = static_cast<Block*>(block);
  if (self->ending_) return;
  try {
    (*self->body_)();
    for (int q = 0; q < kNumQueues; ++q) {
      self->Commit(static_cast<Queue>(q));
      self->DrainTo(static_cast<Queue>(q), 0);
    }
    ++self->finished_;
  } catch (const Ended&) {
  }
}

// After a fault: every thread leaves its kernel, so that nothing that it holds is lost.
void Block::Unwind() {
  ending_ = true;
  for (int t = 0; t < num_threads_; ++t) {
    running_ = t;
    while (!threads_[t].fiber->done()) threads_[t].fiber->Resume();
  }
}

void Block::Loop() {
  while (fault_.empty() && (finished_ < num_threads_ || !engine_.empty())) {
    if (!RunSomething() && !WakeReady()) fault_ = StuckWords();
  }
  running_ = -1;
}

// Which of the ready threads goes on: any, or the best of a few by the rank of its warp.
size_t Block::DrawReady() {
  constexpr int kCandidates = 8;
  constexpr uint64_t kTurnsOfRanks = 1024;
  size_t best = random_.NextBelow(ready_.size());
  if (!favours_warps_) return best;
  if (random_.NextBelow(kTurnsOfRanks) == 0) {
    for (uint64_t& rank : warp_ranks_) rank = random_.NextU64();
  }
  for (int i = 1; i < kCandidates; ++i) {
    const size_t other = random_.NextBelow(ready_.size());
    if (warp_ranks_[ready_[other] / kWarpLanes] > warp_ranks_[ready_[best] / kWarpLanes]) {
      best = other;
    }
  }
  return best;
}

// One thread until it waits, or one piece of the copy engine's work. False if nothing can run.
bool Block::RunSomething() {
  const size_t choices = ready_.size() + engine_.size();
  if (choices == 0) return false;
  const size_t choice = choices == 1 ? 0 : random_.NextBelow(choices);
  if (choice >= ready_.size()) {
    const auto at = engine_.begin() + static_cast<int64_t>(choice - ready_.size());
    const std::function<void()> work = std::move(*at);
    engine_.erase(at);
    work();
    return true;
  }
  const size_t next = DrawReady();
  running_ = ready_[next];
  ready_[next] = ready_.back();
  ready_.pop_back();
  SetIndices(running_);
  threads_[running_].fiber->Resume();
  // Waits for a condition are asked now and then, so that they do not always end last.
  if (asked_ > 0 && random_.NextBelow(8) == 0) WakeReady();
  return true;
}

// Threads whose condition has come true become ready. False if there is none.
bool Block::WakeReady() {
  if (asked_ == 0) return false;
  bool woke = false;
  for (int t = 0; t < num_threads_; ++t) {
    Thread& thread = threads_[t];
    if (!thread.waiting || thread.ready == nullptr || !(*thread.ready)()) continue;
    MakeReady(t);
    woke = true;
  }
  return woke;
}

void Block::MakeReady(int thread) {
  if (threads_[thread].ready != nullptr) --asked_;
  threads_[thread].waiting = false;
  threads_[thread].ready = nullptr;
  ready_.push_back(thread);
}

void Block::SetIndices(int thread) const {
  const uint32_t t = static_cast<uint32_t>(thread);
  ::threadIdx = {t % shape_.threads.x, t / shape_.threads.x % shape_.threads.y,
                 t / (shape_.threads.x * shape_.threads.y)};
  ::blockIdx = {shape_.block.x, shape_.block.y, shape_.block.z};
  ::blockDim = {shape_.threads.x, shape_.threads.y, shape_.threads.z};
  ::gridDim = {shape_.grid.x, shape_.grid.y, shape_.grid.z};
}

void Block::Wait(const char* name, const std::source_location& where) {
  Thread& thread = threads_[running_];
  thread.waiting = true;
  thread.waits_for = name;
  thread.where = where;
  Suspend();
}

void Block::Suspend() {
  threads_[running_].fiber->Suspend();
  if (ending_) throw Ended();
}

void Block::Fault(const std::string& words, const std::source_location& where) {
  if (fault_.empty()) {
    fault_ = PlaceWords(where) + ": thread " + std::to_string(running_) + " of block (" +
             std::to_string(shape_.block.x) + ", " + std::to_string(shape_.block.y) + ", " +
             std::to_string(shape_.block.z) + "): " + words;
  }
  throw Ended();
}

std::string Block::StuckWords() const {
  std::map<std::string, std::vector<int>> places;
  for (int t = 0; t < num_threads_; ++t) {
    if (threads_[t].waiting) {
      places[std::string(threads_[t].waits_for) + " at " + PlaceWords(threads_[t].where)].push_back(
          t);
    }
  }
  std::string words = "deadlock in block (" + std::to_string(shape_.block.x) + ", " +
                      std::to_string(shape_.block.y) + ", " + std::to_string(shape_.block.z) + ")";
  for (const auto& [place, waiting] : places) {
    words += "; " + std::to_string(waiting.size()) + " of " + std::to_string(num_threads_) +
             " threads (the first is " + std::to_string(waiting[0]) + ") wait in " + place;
  }
  return words + "; " + std::to_string(finished_) + " have ended";
}

// The open meeting under this name and key, or a new one. Equal keys at different places of the
// source are a divergent barrier.
Block::Meeting& Block::FindMeeting(const char* name, uint64_t key, int expected,
                                   const std::source_location& where) {
  for (Meeting& meeting : meetings_) {
    if (meeting.key != key) continue;
    if (std::strcmp(meeting.name, name) == 0 && meeting.expected == expected &&
        meeting.where.line() == where.line() &&
        std::strcmp(meeting.where.file_name(), where.file_name()) == 0) {
      return meeting;
    }
    Fault("divergent: it is in " + std::string(name) + ", others wait in " + meeting.name + " at " +
              PlaceWords(meeting.where),
          where);
  }
  meetings_.push_back({name, key, where, {}, {}, expected});
  return meetings_.back();
}

void Block::Meet(const char* name, uint64_t key, int expected, int place, void* operand,
                 CollectiveAction action, const std::source_location& where) {
  Meeting& meeting = FindMeeting(name, key, expected, where);
  meeting.arrived.push_back(running_);
  if (action != nullptr) {
    meeting.operands.resize(std::max<size_t>(meeting.operands.size(), place + 1), nullptr);
    meeting.operands[place] = operand;
  }
  if (static_cast<int>(meeting.arrived.size()) < expected) {
    Wait(name, where);
    return;
  }
  const Meeting met = std::move(meeting);
  meetings_.erase(meetings_.begin() + (&meeting - meetings_.data()));
  if (action != nullptr) {
    std::vector<void*> operands = met.operands;
    operands.resize(128, nullptr);
    action(operands.data());
  }
  for (const int t : met.arrived) {
    if (t != running_) MakeReady(t);
  }
  // It goes on itself only when it is drawn.
  MakeReady(running_);
  Suspend();
}

void Block::Barrier(int id, int threads, const std::source_location& where) {
  if (threads == 0) threads = num_threads_;
  if (id < 0 || id > 15 || threads % kWarpLanes != 0) {
    if (threads != num_threads_) Fault("a barrier is 0..15, for whole warps", where);
  }
  Meet("a barrier", static_cast<uint64_t>(id), threads, 0, nullptr, nullptr, where);
}

namespace {
constexpr uint64_t kWarpKey = uint64_t{1} << 48;
constexpr uint64_t kWarpgroupKey = uint64_t{2} << 48;
}  // namespace

void Block::WarpCollective(const char* name, uint32_t mask, void* operand, CollectiveAction action,
                           const std::source_location& where) {
  const int lane = running_ % kWarpLanes;
  const uint64_t warp = static_cast<uint64_t>(running_ / kWarpLanes);
  if ((mask >> lane & 1) == 0)
    Fault(std::string(name) + ": its own lane is not in the mask", where);
  const uint64_t key = kWarpKey | warp << 32 | mask;
  for (const Meeting& meeting : meetings_) {
    const bool same_warp = (meeting.key >> 32) == (key >> 32);
    if (same_warp && meeting.key != key && (meeting.key & key & 0xFFFFFFFF) != 0) {
      Fault("divergent: it is in " + std::string(name) +
                ", other lanes under another mask wait in " + meeting.name + " at " +
                PlaceWords(meeting.where),
            where);
    }
  }
  Meet(name, key, std::popcount(mask), lane, operand, action, where);
}

void Block::WarpgroupCollective(const char* name, void* operand, CollectiveAction action,
                                const std::source_location& where) {
  constexpr int kThreads = 4 * kWarpLanes;
  Meet(name, kWarpgroupKey | static_cast<uint64_t>(running_ / kThreads), kThreads,
       running_ % kThreads, operand, action, where);
}

void Block::WaitUntil(const char* name, const std::function<bool()>& ready,
                      const std::source_location& where) {
  if (ready() && random_.NextBelow(2) == 0) return;
  threads_[running_].ready = &ready;
  ++asked_;
  Wait(name, where);
}

void Block::RunDuring(Queue queue, std::function<void()> work) {
  if (random_.NextBelow(2) == 0) {
    if (queue == kMatrices) RunAll(queue);
    work();
  } else {
    threads_[running_].open[queue].work.push_back(std::move(work));
  }
}

// What the running thread has queued, earlier than it has to; its groups still count.
void Block::RunAll(Queue queue) {
  Thread& thread = threads_[running_];
  for (Group& group : thread.groups[queue]) {
    for (const std::function<void()>& work : group.work) work();
    group.work.clear();
  }
  for (const std::function<void()>& work : thread.open[queue].work) work();
  thread.open[queue].work.clear();
}

void Block::Commit(Queue queue) {
  Thread& thread = threads_[running_];
  thread.groups[queue].push_back(std::move(thread.open[queue]));
  thread.open[queue].work.clear();
}

void Block::DrainTo(Queue queue, int pending) {
  std::deque<Group>& groups = threads_[running_].groups[queue];
  while (static_cast<int>(groups.size()) > pending) {
    for (const std::function<void()>& work : groups.front().work) work();
    groups.pop_front();
  }
}

void* Block::StaticShared(const void* key, size_t bytes, size_t alignment) {
  const auto found = static_shared_.find(key);
  if (found != static_shared_.end()) return found->second.get();
  void* memory = AllocateJunk(alignment, bytes);
  static_shared_.emplace(key, std::unique_ptr<void, void (*)(void*)>(memory, &std::free));
  static_shared_bytes_ += bytes;
  return memory;
}

}  // namespace batchvar::simt
