#include "sim/replay/sweep.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace batchvar {
namespace {

// Cells of unequal length, so that threads end out of order.
std::string SlowCell(size_t cell) {
  std::this_thread::sleep_for(std::chrono::microseconds(200 * ((cell * 7) % 5)));
  return std::to_string(cell);
}

struct Ran {
  absl::StatusOr<size_t> done = 0;
  std::vector<std::string> results;
};

Ran RunWith(SweepRun sweep) {
  Ran ran;
  sweep.run = SlowCell;
  if (!sweep.done) {
    sweep.done = [&ran](size_t cell, const std::string& result) {
      EXPECT_EQ(std::to_string(cell), result);
      ran.results.push_back(result);
      return absl::OkStatus();
    };
  }
  ran.done = RunCells(sweep);
  return ran;
}

TEST(RunCells, HandsOnInOrderAtAnyNumberOfJobs) {
  for (const int jobs : {1, 2, 5, 64}) {
    SweepRun sweep;
    sweep.count = 40;
    sweep.jobs = jobs;
    const Ran ran = RunWith(sweep);
    EXPECT_EQ(*ran.done, 40U);
    ASSERT_EQ(ran.results.size(), 40U) << jobs;
    for (size_t i = 0; i < 40; ++i) EXPECT_EQ(ran.results[i], std::to_string(i));
  }
}

TEST(RunCells, BeginsWhereItStopped) {
  SweepRun sweep;
  sweep.first = 37;
  sweep.count = 40;
  sweep.jobs = 8;
  EXPECT_EQ(RunWith(sweep).results, (std::vector<std::string>{"37", "38", "39"}));
  sweep.first = 40;
  EXPECT_TRUE(RunWith(sweep).results.empty());
}

TEST(RunCells, AnInterruptionLeavesNoGap) {
  std::atomic<int> asked = 0;
  SweepRun sweep;
  sweep.count = 40;
  sweep.jobs = 4;
  sweep.interrupted = [&asked] { return ++asked > 10; };
  const Ran ran = RunWith(sweep);
  EXPECT_EQ(*ran.done, 10U);  // whatever was taken is finished
  EXPECT_EQ(ran.results.size(), 10U);
}

TEST(RunCells, AnErrorOfTheReceiverEndsIt) {
  SweepRun sweep;
  sweep.count = 40;
  sweep.jobs = 3;
  std::atomic<int> received = 0;
  sweep.done = [&received](size_t cell, const std::string&) {
    ++received;
    return cell == 5 ? absl::DataLossError("full") : absl::OkStatus();
  };
  EXPECT_EQ(RunWith(sweep).done.status().message(), "full");
  EXPECT_EQ(received, 6);
}

}  // namespace
}  // namespace batchvar
