// The policies of the kernel cache on two devices: which ones end in 400, and that compiles and loads happen once.
#include "devices/kernel_cache.h"

#include <atomic>
#include <barrier>
#include <future>
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

class KernelCacheTest : public SimTest {
 protected:
  KernelCacheTest() { remake(); }

  void remake(std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    cache = std::make_unique<KernelCache>(
        *driver,
        [this](const std::string& artefact) {
          ++compiled;
          Image image = addImage();
          image.name = artefact;
          image.hostKernels.emplace_back("add_twice", [](void** params) {
            addKernel(params);
            addKernel(params);
          });
          return image;
        },
        patience);
  }

  ~KernelCacheTest() override { cache.reset(); }

  /// What a call site on `device` does: makes its device current, asks the cache, launches on its own stream.
  Status call(int device, std::optional<int> passed, const std::string& entry = "add") {
    use(device);
    const Function function = cache->get({"add/f32", passed, rigs[device].context}, entry);
    return launch(function, rigs[device].stream, rigs[device].memory);
  }

  std::atomic<int> compiled{0};
  std::unique_ptr<KernelCache> cache;
};

TEST_F(KernelCacheTest, TheSingletonIs400OnTheSecondDeviceWarmOrCold) {
  cache->setKey(keyByArtefact());
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(call(1, 1), Status::kInvalidHandle) << "though the call site passes its device";
  EXPECT_EQ(call(1, 1), Status::kInvalidHandle) << "warm";
  EXPECT_EQ(call(0, 0), Status::kSuccess) << "nothing sticks";
  EXPECT_EQ(cache->loads(), 1);
}

TEST_F(KernelCacheTest, TheSingletonFailsOnWhicheverDeviceComesSecond) {
  cache->setKey(keyByArtefact());
  EXPECT_EQ(call(1, 1), Status::kSuccess);
  EXPECT_EQ(call(0, 0), Status::kInvalidHandle);
  cache->clear();
  EXPECT_EQ(call(0, 0), Status::kSuccess) << "cold again, the first one wins";
  EXPECT_EQ(call(1, 1), Status::kInvalidHandle);
}

TEST_F(KernelCacheTest, TheHalfFixIs400BecauseNoCallSitePassesItsDevice) {
  cache->setKey(keyByPassedDevice());
  EXPECT_EQ(call(0, std::nullopt), Status::kSuccess);
  EXPECT_EQ(call(1, std::nullopt), Status::kInvalidHandle);
  EXPECT_EQ(call(1, 1), Status::kSuccess) << "the second edit: the caller passes it";
}

TEST_F(KernelCacheTest, AHandleADeviceWorksWarmAndCold) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(call(0, 0), Status::kSuccess);
    EXPECT_EQ(call(1, 1), Status::kSuccess);
  }
  EXPECT_EQ(cache->compiles(), 1);
  EXPECT_EQ(cache->loads(), 2);
  EXPECT_EQ(cache->hits(), 4);
  EXPECT_EQ(*rigs[0].memory, 3.0f);
  EXPECT_EQ(*rigs[1].memory, 3.0f);
}

TEST_F(KernelCacheTest, AHandleAContextWorksWhateverTheCallSitePasses) {
  cache->setKey(keyByContext());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(call(0, std::nullopt), Status::kSuccess);
    EXPECT_EQ(call(1, std::nullopt), Status::kSuccess);
  }
  EXPECT_EQ(cache->loads(), 2);
}

TEST_F(KernelCacheTest, NeverKeepingAHandleWorksAndLoadsEveryTime) {
  cache->setKey(keyNever());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(call(0, std::nullopt), Status::kSuccess);
    EXPECT_EQ(call(1, std::nullopt), Status::kSuccess);
  }
  EXPECT_EQ(cache->compiles(), 1);
  EXPECT_EQ(cache->loads(), 6);
  EXPECT_EQ(cache->hits(), 0);
  EXPECT_EQ(driver->log().count(CallKind::kModuleUnload), 5u) << "at the thread's next call";
}

TEST_F(KernelCacheTest, ALibraryIsNever400UnderAnyKey) {
  const std::pair<const char*, CacheKey> keys[] = {{"artefact", keyByArtefact()},
                                                   {"passed device", keyByPassedDevice()},
                                                   {"context", keyByContext()},
                                                   {"never", keyNever()}};
  for (const auto& [name, key] : keys) {
    SCOPED_TRACE(name);
    remake();
    cache->setLoadMode(LoadMode::kLibrary);
    cache->setKey(key);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(call(0, std::nullopt), Status::kSuccess);
      EXPECT_EQ(call(1, std::nullopt), Status::kSuccess);
    }
  }
}

TEST_F(KernelCacheTest, ADeviceThatIsPassedButNotCurrentGetsAHandleOfTheCurrentOne) {
  use(0);
  const Function wrong = cache->get({"add/f32", 1, rigs[0].context}, "add");
  use(1);
  EXPECT_EQ(launch(wrong, rigs[1].stream, rigs[1].memory), Status::kInvalidHandle);
}

TEST_F(KernelCacheTest, AnotherEntryOfALoadedImageIsAHit) {
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(call(0, 0, "add_twice"), Status::kSuccess);
  EXPECT_EQ(*rigs[0].memory, 3.0f);
  EXPECT_EQ(cache->loads(), 1);
  EXPECT_EQ(cache->hits(), 1);
}

TEST_F(KernelCacheTest, AnEntryThatTheImageLacksIsADeviceErrorThatNamesIt) {
  try {
    FAIL() << statusName(call(0, 0, "sub"));
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.status(), Status::kNotFound);
    EXPECT_NE(std::string(error.what()).find("\"add/f32\" has no entry \"sub\""), std::string::npos) << error.what();
  }
}

TEST_F(KernelCacheTest, LoadingWithoutAContextIsADeviceError) {
  ok(driver->setCurrent({}));
  EXPECT_THROW(cache->get({"add/f32", 0, {}}, "add"), DeviceError);
  EXPECT_EQ(call(0, 0), Status::kSuccess) << "a failed load is not kept";
}

TEST_F(KernelCacheTest, ClearInvalidatesWhatWasGivenOut) {
  use(0);
  const Function function = cache->get({"add/f32", 0, rigs[0].context}, "add");
  cache->clear();
  EXPECT_EQ(launch(function, rigs[0].stream, rigs[0].memory), Status::kInvalidHandle);
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(compiled, 2);
}

TEST_F(KernelCacheTest, TheLogShowsWhoseHandleAHitReturned) {
  cache->setKey(keyByArtefact());
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(call(1, std::nullopt), Status::kInvalidHandle);
  const LogRecord hit = lastRecord(CallKind::kCacheHit);
  EXPECT_EQ(hit.name, "add/f32");
  EXPECT_EQ(hit.device, 1);
  EXPECT_EQ(hit.objectDevice, 0);
  EXPECT_EQ(hit.objectContext, rigs[0].context.id);
  EXPECT_EQ(hit.detail, "passed device: none");
  EXPECT_EQ(lastRecord(CallKind::kCacheMiss).device, 0);
  EXPECT_EQ(lastRecord(CallKind::kCompile).name, "add/f32");
}

TEST_F(KernelCacheTest, HooksTellTheStoryOfAColdAndAWarmCall) {
  std::vector<CacheEvent> events;
  cache->setHook([&](CacheEvent event, const CacheRequest&) { events.push_back(event); });
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(call(0, 0), Status::kSuccess);
  EXPECT_EQ(events, (std::vector{CacheEvent::kLookup, CacheEvent::kCompileBegin, CacheEvent::kCompileEnd,
                                 CacheEvent::kLoad, CacheEvent::kLookup, CacheEvent::kHit}));
}

TEST_F(KernelCacheTest, ManyColdThreadsCompileOnceAndLoadOncePerDevice) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      use(t % 2);
      start.arrive_and_wait();
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(cache->get({"add/f32", t % 2, rigs[t % 2].context}, "add"));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(cache->compiles(), 1);
  EXPECT_EQ(cache->loads(), 2);
}

TEST_F(KernelCacheTest, WaitingForACompileEndsWithAnErrorThatNamesWhoCompiles) {
  remake(std::chrono::milliseconds(0));
  std::promise<void> begun;
  std::promise<void> finish;
  cache->setHook([&](CacheEvent event, const CacheRequest&) {
    if (event != CacheEvent::kCompileBegin) return;
    begun.set_value();
    finish.get_future().wait();
  });
  setOriginProvider([] { return Origin{roleId("drafter[0]"), Phase::kDrafterForward, 5}; });
  std::thread compiler([&] { EXPECT_EQ(call(0, 0), Status::kSuccess); });
  begun.get_future().wait();
  try {
    ADD_FAILURE() << "the second caller did not wait: " << statusName(call(1, 1));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.message().find("\"add/f32\" is still under way in drafter[0] (step 5"), std::string::npos)
        << error.message();
  }
  finish.set_value();
  compiler.join();
  setOriginProvider(nullptr);
  EXPECT_EQ(call(1, 1), Status::kSuccess);
}

TEST_F(KernelCacheTest, ACompileThatThrowsReachesItsCallerAndTheNextOneTriesAgain) {
  int attempts = 0;
  cache = std::make_unique<KernelCache>(*driver, [&](const std::string&) -> Image {
    if (++attempts == 1) throw Error(ErrorKind::kEnvironment, "compiler", "no space left");
    return addImage();
  });
  EXPECT_THROW(check(call(0, 0), "launch", 0), Error);
  EXPECT_EQ(call(0, 0), Status::kSuccess) << "neither the lock nor the tracing flag stays set";
  EXPECT_EQ(cache->compiles(), 1);
}

}  // namespace
}  // namespace redraft::devices
