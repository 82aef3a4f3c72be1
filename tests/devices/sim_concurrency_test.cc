// Threads of a process at once; run under ThreadSanitizer by `make check`.
#include <atomic>
#include <barrier>
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 300;

/// Runs `body(thread)` on all threads at once; failures are counted, as EXPECT in many threads drowns the first.
template <class Body>
void together(Body body) {
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(SimConcurrencyTest, ThreadsAllocateLaunchCopyAndFreeOnTheirOwnDevices) {
  const auto driver = makeSimDriver({fullTopology(4), std::size_t{1} << 30, 128, true});
  driver->log().mute(CallKind::kAllocate, true);
  std::atomic<int> wrong{0};
  together([&](int t) {
    const ContextGuard guard(*driver, t % 4);
    Stream stream;
    Module module;
    Function add;
    check(driver->createStream(&stream), "createStream", t);
    check(driver->loadModule(addImage(), &module), "loadModule", t);
    check(driver->moduleFunction(module, "add", &add), "moduleFunction", t);
    for (int i = 0; i < kRounds; ++i) {
      const std::size_t bytes = i % 50 == 0 ? std::size_t{3} << 20 : 4 + static_cast<std::size_t>(i) % 600;
      void* memory = nullptr;
      float host = static_cast<float>(i);
      float value = 1;
      int device = -1;
      check(driver->allocate(bytes, &memory), "allocate", t);
      check(driver->copy(memory, &host, sizeof host, stream), "copy", t);
      check(driver->launch(add, {}, stream, {{&memory, &value}, {{"out", memory, 4, true}}}), "launch", t);
      check(driver->copy(&host, memory, sizeof host, stream), "copy", t);
      check(driver->pointerDevice(memory, &device), "pointerDevice", t);
      wrong += host != static_cast<float>(i) + 1 || device != t % 4;
      check(driver->free(memory), "free", t);
    }
  });
  EXPECT_EQ(wrong, 0);
  for (int device = 0; device < 4; ++device) {
    MemoryInfo info;
    ASSERT_EQ(driver->memoryInfo(device, &info), Status::kSuccess);
    EXPECT_EQ(info.live, 0);
    EXPECT_EQ(info.segments, 0);
    EXPECT_EQ(info.allocations, 2 * kRounds);
  }
  EXPECT_EQ(driver->log().count(CallKind::kAllocate), static_cast<std::uint64_t>(kThreads) * kRounds);
  EXPECT_EQ(driver->log().count(CallKind::kLaunch), static_cast<std::uint64_t>(kThreads) * kRounds);
  EXPECT_EQ(driver->log().count(CallKind::kRace), 0u);
}

TEST(SimConcurrencyTest, MemoryMayBeFreedByAnotherThread) {
  const auto driver = makeSimDriver({fullTopology(2)});
  std::array<std::atomic<void*>, 64> slots{};
  together([&](int t) {
    const ContextGuard guard(*driver, t % 2);
    for (int i = 0; i < kRounds; ++i) {
      void* memory = nullptr;
      check(driver->allocate(64, &memory), "allocate", t);
      check(driver->free(slots[(i * 7 + t) % slots.size()].exchange(memory)), "free", t);
    }
  });
  for (auto& slot : slots) ASSERT_EQ(driver->free(slot), Status::kSuccess);
  for (int device : {0, 1}) {
    MemoryInfo info;
    ASSERT_EQ(driver->memoryInfo(device, &info), Status::kSuccess);
    EXPECT_EQ(info.live, 0);
  }
}

TEST(SimConcurrencyTest, ADeviceNeverHoldsMoreThanItsMemory) {
  const auto driver = makeSimDriver({fullTopology(1), 1000, 64, true});
  std::atomic<int> granted{0};
  together([&](int t) {
    const ContextGuard guard(*driver, 0);
    void* memory = nullptr;
    if (driver->allocate(300, &memory) == Status::kSuccess) ++granted;
  });
  EXPECT_EQ(granted, 3);
  MemoryInfo info;
  ASSERT_EQ(driver->memoryInfo(0, &info), Status::kSuccess);
  EXPECT_EQ(info.peak, 900);
}

TEST(SimConcurrencyTest, ThreadsShareOnePrimaryContextADevice) {
  const auto driver = makeSimDriver({fullTopology(2)});
  std::array<Context, kThreads> contexts;
  together([&](int t) { check(driver->primaryContext(t % 2, &contexts[t]), "primaryContext", t % 2); });
  for (int t = 2; t < kThreads; ++t) EXPECT_EQ(contexts[t], contexts[t % 2]);
  EXPECT_EQ(driver->log().count(CallKind::kContext), 2u);
}

TEST(SimConcurrencyTest, ContextsMayBeMadeBoundAndDestroyedAtOnce) {
  const auto driver = makeSimDriver({fullTopology(2)});
  std::atomic<int> wrong{0};
  together([&](int t) {
    for (int i = 0; i < 50; ++i) {
      Context context;
      Context bound;
      void* memory = nullptr;
      int device = -1;
      check(driver->createContext(t % 2, &context), "createContext", t);
      check(driver->setCurrent(context), "setCurrent", t);
      check(driver->current(&bound), "current", t);
      check(driver->contextDevice(bound, &device), "contextDevice", t);
      check(driver->allocate(32, &memory), "allocate", t);
      wrong += bound != context || device != t % 2;
      check(driver->destroyContext(context), "destroyContext", t);
      wrong += driver->setCurrent(context) != Status::kContextIsDestroyed;
    }
  });
  EXPECT_EQ(wrong, 0);
  MemoryInfo info;
  ASSERT_EQ(driver->memoryInfo(0, &info), Status::kSuccess);
  EXPECT_EQ(info.live, 0) << "memory went with its contexts";
}

TEST(SimConcurrencyTest, AFaultOnOneThreadReachesAllAndMemoryStillGoes) {
  const auto driver = makeSimDriver({fullTopology(2)});
  float host = 0;
  std::atomic<int> refused{0};
  std::barrier faulted(kThreads);
  together([&](int t) {
    Context context;
    Module module;
    Function add;
    check(driver->primaryContext(t % 2, &context), "primaryContext", t);
    check(driver->setCurrent(context), "setCurrent", t);
    check(driver->loadModule(addImage(), &module), "loadModule", t);
    check(driver->moduleFunction(module, "add", &add), "moduleFunction", t);
    void* memory = nullptr;
    check(driver->allocate(64, &memory), "allocate", t);
    faulted.arrive_and_wait();
    if (t == 0) {
      float value = 1;
      void* pointer = &host;
      check(driver->launch(add, {}, {}, {{&pointer, &value}, {{"x", &host, 4, true}}}), "launch", 0);
      refused += driver->synchronizeContext() == Status::kIllegalAddress;
    }
    faulted.arrive_and_wait();
    if (t != 0) refused += driver->synchronizeContext() == Status::kIllegalAddress;
    refused += driver->free(memory) == Status::kIllegalAddress;
  });
  EXPECT_EQ(refused, 2 * kThreads);
  MemoryInfo info;
  EXPECT_EQ(driver->memoryInfo(0, &info), Status::kIllegalAddress);
  EXPECT_EQ(info.live, 0);
}

}  // namespace
}  // namespace redraft::devices
