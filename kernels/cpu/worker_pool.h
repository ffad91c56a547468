// A small persistent pool of threads for the CPU executor. Jobs are independent outputs: which
// thread takes which job never changes a bit, because no reduction is split between jobs.
#ifndef BATCHVAR_KERNELS_CPU_WORKER_POOL_H_
#define BATCHVAR_KERNELS_CPU_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace batchvar {

class WorkerPool {
 public:
  // `num_threads` >= 1 threads compute, the caller of Run among them.
  explicit WorkerPool(int32_t num_threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int32_t num_threads() const { return static_cast<int32_t>(threads_.size()) + 1; }

  // job(index, worker) once for every index in [0, count), worker in [0, num_threads()); returns
  // when all are done. One Run at a time; a job may not call Run.
  void Run(int64_t count, const std::function<void(int64_t index, int32_t worker)>& job);

 private:
  void Serve(int32_t worker);
  void TakeJobs(int32_t worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable end_;
  const std::function<void(int64_t, int32_t)>* job_ = nullptr;  // the next four: under mutex_
  int64_t run_ = 0;                                             // how many Runs have begun
  int32_t busy_ = 0;                                            // threads still in this Run
  bool stop_ = false;
  int64_t count_ = 0;
  std::atomic<int64_t> next_ = 0;
};

}  // namespace batchvar

#endif  // BATCHVAR_KERNELS_CPU_WORKER_POOL_H_
