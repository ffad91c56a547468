// Requests inside a scheduler live in slots, small integers that are reused when a request is done
// and nothing names it any more. T has Recycle(), which makes it like new but may keep memory.
#ifndef BATCHVAR_SIM_SERVING_SLOT_POOL_H_
#define BATCHVAR_SIM_SERVING_SLOT_POOL_H_

#include <cstdint>
#include <vector>

namespace batchvar {

template <typename T>
class SlotPool {
 public:
  int32_t Acquire() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<int32_t>(slots_.size()) - 1;
    }
    const int32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].Recycle();
    return slot;
  }
  // The caller has checked that nothing names the slot any more.
  void Release(int32_t slot) { free_.push_back(slot); }

  T& operator[](int32_t slot) { return slots_[slot]; }
  const T& operator[](int32_t slot) const { return slots_[slot]; }

 private:
  std::vector<T> slots_;
  std::vector<int32_t> free_;
};

}  // namespace batchvar

#endif  // BATCHVAR_SIM_SERVING_SLOT_POOL_H_
