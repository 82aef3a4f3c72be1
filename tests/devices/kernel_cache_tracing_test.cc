// FX's tracing flag: one for the process raises in an innocent thread, with separate handles per device; one a thread
// does not.
#include <atomic>
#include <future>
#include <thread>

#include "devices/kernel_cache.h"
#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

constexpr const char* kText =
    "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the "
    "moment.";

/// As torch 2.11 keeps it: a module global.
class ProcessWideFlag final : public TracingFlag {
 public:
  bool isTracing() const override { return tracing_; }
  bool exchange(bool tracing) override { return tracing_.exchange(tracing); }

 private:
  std::atomic<bool> tracing_{false};
};

class TracingFlagTest : public SimTest {
 protected:
  TracingFlagTest() : cache(*driver, [](const std::string&) { return addImage(); }) {}

  CacheRequest request(const std::string& artefact, int device) { return {artefact, device, rigs[device].context}; }

  /// Device 0 compiles "cold" and stops inside; device 1, warm, makes a call then. Returns what its call threw.
  std::string warmCallDuringColdCompile() {
    use(1);
    EXPECT_TRUE(cache.get(request("warm", 1), "add"));
    std::promise<void> compiling;
    std::promise<void> called;
    cache.setHook([&](CacheEvent event, const CacheRequest& at) {
      if (event != CacheEvent::kCompileBegin || at.artefact != "cold") return;
      compiling.set_value();
      called.get_future().wait();
    });
    std::thread cold([&] {
      use(0);
      EXPECT_TRUE(cache.get(request("cold", 0), "add")) << "the one that compiles is not the one that fails";
    });
    compiling.get_future().wait();
    std::string thrown;
    try {
      EXPECT_TRUE(cache.get(request("warm", 1), "add"));
    } catch (const NestedTracingError& error) {
      thrown = error.what();
    }
    called.set_value();
    cold.join();
    cache.setHook(nullptr);
    return thrown;
  }

  KernelCache cache;
};

TEST_F(TracingFlagTest, AProcessWideFlagRaisesInTheInnocentWarmThread) {
  cache.setTracingFlag(std::make_unique<ProcessWideFlag>());
  EXPECT_EQ(warmCallDuringColdCompile(), kText);
  EXPECT_TRUE(cache.get(request("warm", 1), "add")) << "it passes once the compile has ended: it looks like a flake";
}

TEST_F(TracingFlagTest, AFlagAThreadDoesNot) { EXPECT_EQ(warmCallDuringColdCompile(), ""); }

TEST_F(TracingFlagTest, AProcessWideFlagNeedsOneDeviceOnly) {
  cache.setTracingFlag(std::make_unique<ProcessWideFlag>());
  rigs[1] = rigs[0];
  EXPECT_EQ(warmCallDuringColdCompile(), kText);
}

TEST_F(TracingFlagTest, TheCheckComesBeforeTheLookup) {
  bool lookedUp = false;
  auto flag = std::make_unique<ProcessWideFlag>();
  flag->exchange(true);
  cache.setTracingFlag(std::move(flag));
  cache.setHook([&](CacheEvent, const CacheRequest&) { lookedUp = true; });
  EXPECT_THROW(cache.get(request("warm", 1), "add"), NestedTracingError);
  EXPECT_FALSE(lookedUp);
}

TEST_F(TracingFlagTest, ACompileThatCallsTheCacheRaisesUnderEitherFlag) {
  for (const bool processWide : {false, true}) {
    std::string thrown;
    KernelCache* self = nullptr;
    KernelCache nested(*driver, [&](const std::string&) {
      try {
        EXPECT_TRUE(self->get(request("inner", 0), "add"));
      } catch (const NestedTracingError& error) {
        thrown = error.what();
      }
      return addImage();
    });
    self = &nested;
    if (processWide) nested.setTracingFlag(std::make_unique<ProcessWideFlag>());
    use(0);
    EXPECT_TRUE(nested.get(request("outer", 0), "add"));
    EXPECT_EQ(thrown, kText);
  }
}

TEST_F(TracingFlagTest, OverlappingCompilesLeaveAProcessWideFlagStuck) {
  // Saved and restored out of order, as FX does: A saves false, B saves true, A restores false, B restores true.
  cache.setTracingFlag(std::make_unique<ProcessWideFlag>());
  std::promise<void> aInside;
  std::promise<void> bInside;
  std::promise<void> aDone;
  // Both pass the check before either compiles.
  std::promise<void> bLookedUp;
  cache.setHook([&](CacheEvent event, const CacheRequest& at) {
    if (event == CacheEvent::kLookup && at.artefact == "b") {
      bLookedUp.set_value();
      aInside.get_future().wait();
    }
    if (event != CacheEvent::kCompileBegin) return;
    if (at.artefact == "a") {
      aInside.set_value();
      bInside.get_future().wait();
    } else {
      bInside.set_value();
      aDone.get_future().wait();
    }
  });
  std::thread b([&] {
    use(1);
    EXPECT_TRUE(cache.get(request("b", 1), "add"));
  });
  bLookedUp.get_future().wait();
  use(0);
  EXPECT_TRUE(cache.get(request("a", 0), "add"));
  aDone.set_value();
  b.join();
  cache.setHook(nullptr);
  EXPECT_THROW(cache.get(request("a", 0), "add"), NestedTracingError) << "nobody compiles, and every call fails";
}

TEST_F(TracingFlagTest, FlagsOfOneThreadAreApart) {
  const auto first = perThreadTracingFlag();
  const auto second = perThreadTracingFlag();
  EXPECT_FALSE(first->exchange(true));
  EXPECT_TRUE(first->isTracing());
  EXPECT_FALSE(second->isTracing());
  std::thread([&] { EXPECT_FALSE(first->isTracing()); }).join();
  EXPECT_TRUE(first->exchange(true));
  EXPECT_TRUE(first->exchange(false));
  EXPECT_FALSE(first->isTracing());
}

}  // namespace
}  // namespace redraft::devices
