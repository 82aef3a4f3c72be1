#include "model/pipeline/ordered_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace redraft::model {
namespace {

constexpr std::chrono::seconds kLong{30};

std::string messageOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(OrderedQueueTest, ItemsComeBySequenceWhateverTheProducersDo) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 3);
  constexpr std::int64_t kItems = 600;
  std::vector<std::thread> producers;
  for (int p = 0; p < 3; ++p) {
    producers.emplace_back([&, p] {
      for (std::int64_t s = p; s < kItems; s += 3) queue.push(s, static_cast<int>(s * 10), "target");
    });
  }
  for (std::int64_t s = 0; s < kItems; ++s) EXPECT_EQ(queue.pop(s, "drafter"), s * 10);
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(queue.size(), 0);
}

TEST(OrderedQueueTest, TryPopTakesWhatIsThereAndMakesRoomAsPopDoes) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 1);
  EXPECT_EQ(queue.tryPop(0), std::nullopt);
  queue.push(0, 5, "target");
  EXPECT_EQ(queue.tryPop(1), std::nullopt);
  EXPECT_EQ(queue.tryPop(0), 5);
  queue.push(1, 6, "target");
  EXPECT_EQ(queue.pop(1, "drafter"), 6);
}

TEST(OrderedQueueTest, NeverHoldsMoreThanItsDepth) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 2);
  std::thread producer([&] {
    for (std::int64_t s = 0; s < 100; ++s) queue.push(s, 0, "target");
  });
  for (std::int64_t s = 0; s < 100; ++s) {
    queue.pop(s, "drafter");
    EXPECT_LE(queue.size(), 2);
  }
  producer.join();
}

TEST(OrderedQueueTest, ALaterItemCannotLockOutTheOneThatIsWaitedFor) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 1);
  std::thread late([&] { queue.push(1, 11, "target[1]"); });  // must wait for 0 to be taken
  std::thread early([&] { queue.push(0, 10, "target[0]"); });
  EXPECT_EQ(queue.pop(0, "drafter"), 10);
  EXPECT_EQ(queue.pop(1, "drafter"), 11);
  late.join();
  early.join();
}

TEST(OrderedQueueTest, ConsumersMayTakeOutOfOrderWithinTheWindow) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 3);
  for (std::int64_t s = 0; s < 3; ++s) queue.push(s, static_cast<int>(s), "target");
  EXPECT_EQ(queue.pop(2, "drafter[1]"), 2);
  EXPECT_EQ(queue.pop(1, "drafter[1]"), 1);
  EXPECT_EQ(queue.pop(0, "drafter[0]"), 0);
  queue.push(5, 5, "target");
  EXPECT_EQ(queue.pop(5, "drafter[0]"), 5);
}

TEST(OrderedQueueTest, ATimeOutSaysWhoWaitedForWhat) {
  RunMonitor monitor(std::chrono::milliseconds(20));
  OrderedQueue<int> queue(monitor, 1);
  try {
    queue.pop(7, "drafter[1]");
    FAIL() << "nothing was pushed";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "drafter[1]");
    EXPECT_NE(error.message().find("micro-batch 7 from the target workers"), std::string::npos) << error.what();
  }
  queue.push(0, 0, "target[0]");
  EXPECT_THROW(queue.push(1, 1, "target[0]"), Error);
}

TEST(RunMonitorTest, AFailureEndsEveryWaitAndIsTheRunsError) {
  RunMonitor monitor(kLong);
  OrderedQueue<int> queue(monitor, 1);
  std::atomic<int> stopped{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      try {
        queue.pop(i, "drafter");
      } catch (const RunStopped&) {
        ++stopped;
        monitor.fail(std::current_exception());
      }
    });
  }
  monitor.fail(std::make_exception_ptr(std::runtime_error("the first")));
  monitor.fail(std::make_exception_ptr(std::runtime_error("the second")));
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(stopped, 4);
  EXPECT_EQ(messageOf(monitor.error()), "the first");
  EXPECT_THROW(monitor.checkpoint(), RunStopped);
}

TEST(RunMonitorTest, AStopWithoutAnErrorHasNone) {
  RunMonitor monitor(kLong);
  EXPECT_FALSE(monitor.stopped());
  monitor.fail(std::make_exception_ptr(RunStopped()));
  EXPECT_TRUE(monitor.stopped());
  EXPECT_EQ(monitor.error(), nullptr);
}

}  // namespace
}  // namespace redraft::model
