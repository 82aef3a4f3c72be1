// One test for each rule that two H200s showed and that the simulator keeps: what belongs to a context, and what misuse
// returns. On GPUs where there are two.
#include <thread>

#include "tests/devices/affinity_fixture.h"

namespace redraft::devices {
namespace {

TEST_P(AffinityTest, FunctionOnItsOwnContextsStreamRuns) {
  use(1);
  EXPECT_EQ(launch(rigs[1].add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(read(rigs[1]), 1.0f);
}

TEST_P(AffinityTest, FunctionOnAnotherContextsStreamIs400AndNothingRunsOrSticks) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[1].stream, rigs[1].memory), Status::kInvalidHandle);
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kSuccess);
  EXPECT_EQ(read(rigs[1]), 0.0f);
  EXPECT_EQ(launch(rigs[1].add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(read(rigs[1]), 1.0f);
}

TEST_P(AffinityTest, FunctionOnTheNullStreamOfAnotherContextIs400) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, {}, rigs[1].memory), Status::kInvalidHandle);
  EXPECT_EQ(launch(rigs[1].add, {}, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(read(rigs[1]), 1.0f);
}

TEST_P(AffinityTest, FunctionOfTheCurrentContextOnAnothersStreamIs400) {
  use(1);
  EXPECT_EQ(launch(rigs[1].add, rigs[0].stream, rigs[1].memory), Status::kInvalidHandle);
}

TEST_P(AffinityTest, FunctionOnItsOwnStreamRunsWhateverContextIsCurrent) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kSuccess);
  EXPECT_EQ(read(rigs[0]), 1.0f);
}

TEST_P(AffinityTest, TwoContextsOnOneDeviceShareMemoryButNotFunctions) {
  Rig second;
  ok(driver->createContext(0, &second.context));
  equip(second);
  EXPECT_EQ(launch(rigs[0].add, second.stream, second.memory), Status::kInvalidHandle);
  EXPECT_EQ(launch(rigs[0].add, {}, second.memory), Status::kInvalidHandle);
  // The silent one: the first context's function on its own stream with the second context's memory.
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, second.memory), Status::kSuccess);
  EXPECT_TRUE(lastRecord(CallKind::kLaunch).foreign.empty());
  ok(driver->synchronizeStream(rigs[0].stream));
  EXPECT_EQ(read(second), 1.0f);
  ok(driver->destroyContext(second.context));
}

TEST_P(AffinityTest, LibraryFunctionRunsOnEveryDevice) {
  Library library;
  Function add;
  ok(driver->setCurrent({}));
  ok(driver->loadLibrary(image, &library));
  ok(driver->libraryFunction(library, "add", &add));
  for (int device : {0, 1}) {
    use(device);
    EXPECT_EQ(launch(add, rigs[device].stream, rigs[device].memory), Status::kSuccess);
    ok(driver->synchronizeStream(rigs[device].stream));
    EXPECT_EQ(launch(add, {}, rigs[device].memory), Status::kSuccess);
    EXPECT_EQ(read(rigs[device]), 2.0f);
  }
  use(0);
  EXPECT_EQ(launch(add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(lastRecord(CallKind::kLaunch).objectDevice, -1);
  EXPECT_EQ(read(rigs[1]), 3.0f);
}

TEST_P(AffinityTest, RecordingAnEventOnAnotherContextsStreamIs400) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  EXPECT_EQ(driver->recordEvent(event, rigs[0].stream), Status::kSuccess);
  use(1);
  EXPECT_EQ(driver->recordEvent(event, rigs[1].stream), Status::kInvalidHandle);
}

TEST_P(AffinityTest, WaitingForAnotherContextsEventIsAllowed) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  ok(driver->recordEvent(event, rigs[0].stream));
  use(1);
  EXPECT_EQ(driver->waitEvent(rigs[1].stream, event), Status::kSuccess);
  EXPECT_EQ(driver->synchronizeEvent(event), Status::kSuccess);
  EXPECT_EQ(driver->queryEvent(event), Status::kSuccess);
}

TEST_P(AffinityTest, TheTimeBetweenEventsThatWereNotRecordedIs400) {
  Event first;
  Event second;
  float millis = -1;
  use(0);
  ok(driver->createEvent(&first));
  ok(driver->createEvent(&second));
  EXPECT_EQ(driver->elapsedMillis(first, second, &millis), Status::kInvalidHandle);
  ok(driver->recordEvent(first, rigs[0].stream));
  ok(driver->recordEvent(second, rigs[0].stream));
  ok(driver->synchronizeEvent(second));
  EXPECT_EQ(driver->elapsedMillis(first, second, &millis), Status::kSuccess);
  EXPECT_GE(millis, 0.0f);
}

TEST_P(AffinityTest, CallsThatNeedAContextReturn201OnANewThread) {
  std::thread([&] {
    Context context{7};
    Stream stream;
    Event event;
    Module module;
    void* pointer = nullptr;
    EXPECT_EQ(driver->current(&context), Status::kSuccess);
    EXPECT_FALSE(context);
    EXPECT_EQ(driver->createStream(&stream), Status::kInvalidContext);
    EXPECT_EQ(driver->createEvent(&event), Status::kInvalidContext);
    EXPECT_EQ(driver->loadModule(image, &module), Status::kInvalidContext);
    EXPECT_EQ(driver->allocate(16, &pointer), Status::kInvalidContext);
    EXPECT_EQ(driver->synchronizeContext(), Status::kInvalidContext);
  }).join();
}

TEST_P(AffinityTest, TheCurrentContextIsTheThreadsOwn) {
  use(0);
  std::thread([&] { use(1); }).join();
  Context context;
  ok(driver->current(&context));
  EXPECT_EQ(context, rigs[0].context);
}

TEST_P(AffinityTest, DestroyingTheCurrentContextUnbindsIt) {
  Context context;
  ok(driver->createContext(1, &context));
  ok(driver->setCurrent(context));
  ok(driver->destroyContext(context));
  ok(driver->current(&context));
  EXPECT_FALSE(context);
  EXPECT_EQ(driver->destroyContext(rigs[0].context), Status::kInvalidContext) << "a primary context stays";
}

TEST_P(AffinityTest, DestroyedStreamsAndEventsAndUnknownFunctionsAre400) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  ok(driver->destroyEvent(event));
  EXPECT_EQ(driver->recordEvent(event, {}), Status::kInvalidHandle);
  EXPECT_EQ(driver->destroyEvent(event), Status::kInvalidHandle);
  ok(driver->destroyStream(rigs[0].stream));
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kInvalidHandle);
  EXPECT_EQ(driver->synchronizeStream(rigs[0].stream), Status::kInvalidHandle);
  EXPECT_EQ(launch(Function{12345678}, {}, rigs[0].memory), Status::kInvalidHandle);
}

TEST_P(AffinityTest, DevicesThatAreNotThereAre101) {
  Context context;
  MemoryInfo info;
  bool can = true;
  for (int device : {-1, driver->deviceCount()}) {
    EXPECT_EQ(driver->primaryContext(device, &context), Status::kInvalidDevice);
    EXPECT_EQ(driver->createContext(device, &context), Status::kInvalidDevice);
    EXPECT_EQ(driver->memoryInfo(device, &info), Status::kInvalidDevice);
    EXPECT_EQ(driver->canAccessPeer(0, device, &can), Status::kInvalidDevice);
    EXPECT_FALSE(can);
  }
}

TEST_P(AffinityTest, AnEmptyLaunchShapeIsInvalid) {
  use(0);
  LaunchShape shape;
  shape.grid[1] = 0;
  float value = 1;
  void* pointer = rigs[0].memory;
  EXPECT_EQ(driver->launch(rigs[0].add, shape, rigs[0].stream, {{&pointer, &value}, {}}), Status::kInvalidValue);
}

TEST_P(AffinityTest, TheLogNamesBothContextsOfARefusedLaunch) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[1].stream, rigs[1].memory), Status::kInvalidHandle);
  const LogRecord record = lastRecord(CallKind::kLaunch);
  EXPECT_EQ(record.status, Status::kInvalidHandle);
  EXPECT_EQ(record.name, "add");
  EXPECT_EQ(record.device, 1);
  EXPECT_EQ(record.context, rigs[1].context.id);
  EXPECT_EQ(record.stream, rigs[1].stream.id);
  EXPECT_EQ(record.objectDevice, 0);
  EXPECT_EQ(record.objectContext, rigs[0].context.id);
}

TEST_P(AffinityTest, ContextGuardBindsADeviceAndRestoresTheFormer) {
  use(0);
  {
    const ContextGuard guard(*driver, 1);
    Context context;
    ok(driver->current(&context));
    EXPECT_EQ(context, rigs[1].context);
    EXPECT_EQ(guard.former(), rigs[0].context);
  }
  Context context;
  ok(driver->current(&context));
  EXPECT_EQ(context, rigs[0].context);
  EXPECT_THROW(ContextGuard(*driver, driver->deviceCount()), DeviceError);
}

TEST_P(AffinityTest, WithPeerAccessAnotherDevicesMemoryIsUsedSilentlyAndTheLogShowsIt) {
  bool can = false;
  ok(driver->canAccessPeer(1, 0, &can));
  if (!can) GTEST_SKIP() << "needs two GPUs that reach each other";
  ok(driver->enablePeerAccess(1, 0));
  EXPECT_EQ(driver->enablePeerAccess(1, 0), Status::kPeerAccessAlreadyEnabled);
  use(1);
  EXPECT_EQ(launch(rigs[1].add, rigs[1].stream, rigs[0].memory), Status::kSuccess);
  const LogRecord record = lastRecord(CallKind::kLaunch);
  ASSERT_EQ(record.foreign.size(), 1u);
  EXPECT_EQ(record.foreign[0].device, 0);
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kSuccess);
  EXPECT_EQ(read(rigs[0]), 1.0f);
  ok(driver->disablePeerAccess(1, 0));
  EXPECT_EQ(driver->disablePeerAccess(1, 0), Status::kPeerAccessNotEnabled);
}

INSTANTIATE_TEST_SUITE_P(Backends, AffinityTest, ::testing::Values("sim", "cuda"), backendName);

/// Poisons the process: each in a child that is started anew, so that its CUDA is its own.
class AffinityDeathTest : public AffinityTest {
 protected:
  AffinityDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Device 1's kernel adds to device 0's memory.
  Status touchOther() {
    use(1);
    return launch(rigs[1].add, rigs[1].stream, rigs[0].memory);
  }
  /// The child's last act: its process is past running destructors.
  [[noreturn]] static void leave() { std::_Exit(HasFailure() ? 1 : 0); }
};

TEST_P(AffinityDeathTest, WithoutPeerAccessTheLaunchSucceedsAndFromTheNextSynchronisationOnEveryCallIs700) {
  const auto poison = [this] {
    EXPECT_EQ(touchOther(), Status::kSuccess);
    EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kIllegalAddress);
    void* pointer = nullptr;
    for (const int device : {1, 0}) {
      static_cast<void>(driver->setCurrent(rigs[device].context));  // binds all the same
      EXPECT_EQ(driver->allocate(16, &pointer), Status::kIllegalAddress) << device;
      EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress) << device;
    }
    leave();
  };
  EXPECT_EXIT(poison(), ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, AffinityDeathTest, ::testing::Values("sim", "cuda"), backendName);

}  // namespace
}  // namespace redraft::devices
