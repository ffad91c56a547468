#include "kernels/cpu/worker_pool.h"

#include "sim/base/check.h"

namespace batchvar {

WorkerPool::WorkerPool(int32_t num_threads) {
  BV_CHECK(num_threads >= 1);
  for (int32_t worker = 1; worker < num_threads; ++worker) {
    threads_.emplace_back([this, worker] { Serve(worker); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(int64_t count, const std::function<void(int64_t, int32_t)>& job) {
  if (threads_.empty() || count <= 1) {  // waking threads costs more than one job may take
    for (int64_t i = 0; i < count; ++i) job(i, 0);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    BV_CHECK(busy_ == 0);
    job_ = &job;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int32_t>(threads_.size());
    ++run_;
  }
  begin_.notify_all();
  TakeJobs(0);
  std::unique_lock<std::mutex> lock(mutex_);
  end_.wait(lock, [this] { return busy_ == 0; });
}

void WorkerPool::TakeJobs(int32_t worker) {
  while (true) {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    (*job_)(index, worker);
  }
}

void WorkerPool::Serve(int32_t worker) {
  int64_t seen = 0;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      begin_.wait(lock, [&] { return stop_ || run_ != seen; });
      if (stop_) return;
      seen = run_;
    }
    TakeJobs(worker);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--busy_ == 0) end_.notify_one();
  }
}

}  // namespace batchvar
