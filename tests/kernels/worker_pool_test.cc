#include "kernels/cpu/worker_pool.h"

#include <vector>

#include "gtest/gtest.h"

namespace batchvar {
namespace {

TEST(WorkerPool, RunsEveryJobOnce) {
  for (const int32_t threads : {1, 2, 5}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<int> runs(count, 0);  // each job writes its own place: no lock is needed
        std::vector<int64_t> by_worker(threads, 0);
        pool.Run(count, [&](int64_t index, int32_t worker) {
          ++runs[index];
          ++by_worker[worker];
        });
        EXPECT_EQ(runs, std::vector<int>(count, 1));
        int64_t sum = 0;
        for (const int64_t jobs : by_worker) sum += jobs;
        EXPECT_EQ(sum, count);
      }
    }
  }
}

}  // namespace
}  // namespace batchvar
