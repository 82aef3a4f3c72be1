// One test for each rule that two H200s showed: what belongs to a context, and what misuse returns.
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

using SimAffinityTest = SimTest;

TEST_F(SimAffinityTest, FunctionOnItsOwnContextsStreamRuns) {
  use(1);
  EXPECT_EQ(launch(rigs[1].add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(*rigs[1].memory, 1.0f);
}

TEST_F(SimAffinityTest, FunctionOnAnotherContextsStreamIs400AndNothingRunsOrSticks) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[1].stream, rigs[1].memory), Status::kInvalidHandle);
  EXPECT_EQ(*rigs[1].memory, 0.0f);
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kSuccess);
  EXPECT_EQ(launch(rigs[1].add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(*rigs[1].memory, 1.0f);
}

TEST_F(SimAffinityTest, FunctionOnTheNullStreamOfAnotherContextIs400) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, {}, rigs[1].memory), Status::kInvalidHandle);
  EXPECT_EQ(*rigs[1].memory, 0.0f);
  EXPECT_EQ(launch(rigs[1].add, {}, rigs[1].memory), Status::kSuccess);
}

TEST_F(SimAffinityTest, FunctionOfTheCurrentContextOnAnothersStreamIs400) {
  use(1);
  EXPECT_EQ(launch(rigs[1].add, rigs[0].stream, rigs[1].memory), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, FunctionOnItsOwnStreamRunsWhateverContextIsCurrent) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kSuccess);
  EXPECT_EQ(*rigs[0].memory, 1.0f);
}

TEST_F(SimAffinityTest, TwoContextsOnOneDeviceShareMemoryButNotFunctions) {
  Rig second;
  ok(driver->createContext(0, &second.context));
  equip(second);
  EXPECT_EQ(launch(rigs[0].add, second.stream, second.memory), Status::kInvalidHandle);
  EXPECT_EQ(launch(rigs[0].add, {}, second.memory), Status::kInvalidHandle);
  // The silent one: the first context's function on its own stream with the second context's memory.
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, second.memory), Status::kSuccess);
  EXPECT_EQ(driver->synchronizeContext(), Status::kSuccess);
  EXPECT_EQ(*second.memory, 1.0f);
  EXPECT_TRUE(lastRecord(CallKind::kLaunch).foreign.empty());
}

TEST_F(SimAffinityTest, AStreamOfSomebodyElsesIsNamedByItsHandle) {
  use(1);
  Stream adopted{77};
  ok(driver->adoptStream(nullptr, &adopted));
  EXPECT_FALSE(adopted);
  ok(driver->adoptStream(reinterpret_cast<void*>(rigs[1].stream.id), &adopted));
  EXPECT_EQ(adopted, rigs[1].stream);
  EXPECT_EQ(driver->adoptStream(reinterpret_cast<void*>(std::uintptr_t{12345}), &adopted), Status::kInvalidHandle);
  EXPECT_FALSE(adopted);
}

TEST_F(SimAffinityTest, LibraryFunctionRunsOnEveryDevice) {
  Library library;
  Function add;
  ok(driver->setCurrent({}));
  ok(driver->loadLibrary(addImage(), &library));
  ok(driver->libraryFunction(library, "add", &add));
  for (int device : {0, 1}) {
    use(device);
    EXPECT_EQ(launch(add, rigs[device].stream, rigs[device].memory), Status::kSuccess);
    EXPECT_EQ(launch(add, {}, rigs[device].memory), Status::kSuccess);
    EXPECT_EQ(*rigs[device].memory, 2.0f);
  }
  use(0);
  EXPECT_EQ(launch(add, rigs[1].stream, rigs[1].memory), Status::kSuccess);
  EXPECT_EQ(lastRecord(CallKind::kLaunch).objectDevice, -1);
}

TEST_F(SimAffinityTest, RecordingAnEventOnAnotherContextsStreamIs400) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  EXPECT_EQ(driver->recordEvent(event, rigs[0].stream), Status::kSuccess);
  use(1);
  EXPECT_EQ(driver->recordEvent(event, rigs[1].stream), Status::kInvalidHandle);
  EXPECT_EQ(driver->recordEvent(event, {}), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, WaitingForAnotherContextsEventIsAllowed) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  ok(driver->recordEvent(event, rigs[0].stream));
  use(1);
  EXPECT_EQ(driver->waitEvent(rigs[1].stream, event), Status::kSuccess);
  EXPECT_EQ(driver->queryEvent(event), Status::kSuccess);
  EXPECT_EQ(driver->synchronizeEvent(event), Status::kSuccess);
}

TEST_F(SimAffinityTest, ElapsedTimeBetweenContextsOrOfUnrecordedEventsIs400) {
  Event first;
  Event second;
  Event other;
  float millis = -1;
  use(0);
  ok(driver->createEvent(&first));
  ok(driver->createEvent(&second));
  EXPECT_EQ(driver->elapsedMillis(first, second, &millis), Status::kInvalidHandle);
  ok(driver->recordEvent(first, {}));
  ok(driver->recordEvent(second, {}));
  EXPECT_EQ(driver->elapsedMillis(first, second, &millis), Status::kSuccess);
  EXPECT_GE(millis, 0.0f);
  use(1);
  ok(driver->createEvent(&other));
  ok(driver->recordEvent(other, {}));
  EXPECT_EQ(driver->elapsedMillis(first, other, &millis), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, CallsThatNeedAContextReturn201OnANewThread) {
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
    EXPECT_EQ(driver->loadModule(addImage(), &module), Status::kInvalidContext);
    EXPECT_EQ(driver->allocate(16, &pointer), Status::kInvalidContext);
    EXPECT_EQ(driver->synchronizeContext(), Status::kInvalidContext);
    EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kInvalidContext);
    EXPECT_EQ(driver->copy(rigs[0].memory, rigs[0].memory, 4, {}), Status::kInvalidContext);
  }).join();
  EXPECT_EQ(*rigs[0].memory, 0.0f);
}

TEST_F(SimAffinityTest, TheCurrentContextIsTheThreadsOwn) {
  use(0);
  std::thread([&] { use(1); }).join();
  Context context;
  ok(driver->current(&context));
  EXPECT_EQ(context, rigs[0].context);
}

TEST_F(SimAffinityTest, TwoDriversKeepTheirCurrentContextsApart) {
  const auto other = makeSimDriver({fullTopology(1)});
  Context mine;
  Context theirs;
  Context now;
  ok(other->primaryContext(0, &theirs));
  use(1);
  ok(other->setCurrent(theirs));
  ok(driver->current(&mine));
  EXPECT_EQ(mine, rigs[1].context);
  ok(other->current(&now));
  EXPECT_EQ(now, theirs);
  EXPECT_EQ(driver->setCurrent(theirs), Status::kInvalidContext);
}

TEST_F(SimAffinityTest, ADestroyedContextIs709WhereverItIsUsed) {
  Rig rig;
  ok(driver->createContext(0, &rig.context));
  equip(rig);
  std::thread([&] {
    ok(driver->setCurrent(rig.context));
    std::thread([&] { ok(driver->destroyContext(rig.context)); }).join();
    void* pointer = nullptr;
    EXPECT_EQ(driver->allocate(16, &pointer), Status::kContextIsDestroyed);
    EXPECT_EQ(driver->setCurrent(rig.context), Status::kContextIsDestroyed);
  }).join();
  use(0);
  EXPECT_EQ(launch(rig.add, {}, rigs[0].memory), Status::kContextIsDestroyed);
  EXPECT_EQ(launch(rigs[0].add, rig.stream, rigs[0].memory), Status::kContextIsDestroyed);
  EXPECT_EQ(driver->free(rig.memory), Status::kInvalidValue);  // it went with the context
  EXPECT_EQ(driver->destroyContext(rig.context), Status::kContextIsDestroyed);
  EXPECT_EQ(driver->destroyContext(rigs[0].context), Status::kInvalidContext) << "a primary context stays";
}

TEST_F(SimAffinityTest, DestroyingTheCurrentContextUnbindsIt) {
  Context context;
  ok(driver->createContext(1, &context));
  ok(driver->setCurrent(context));
  ok(driver->destroyContext(context));
  ok(driver->current(&context));
  EXPECT_FALSE(context);
}

TEST_F(SimAffinityTest, UnloadedAndUnknownFunctionsAre400) {
  use(0);
  ok(driver->unloadModule(rigs[0].module));
  EXPECT_EQ(launch(rigs[0].add, {}, rigs[0].memory), Status::kInvalidHandle);
  EXPECT_EQ(launch(Function{12345}, {}, rigs[0].memory), Status::kInvalidHandle);
  EXPECT_EQ(driver->unloadModule(rigs[0].module), Status::kInvalidHandle);
  Function function;
  EXPECT_EQ(driver->moduleFunction(rigs[0].module, "add", &function), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, ImagesWithoutHostCodeAreRefused) {
  use(0);
  Module module;
  Function function;
  EXPECT_EQ(driver->loadModule({"empty", {}, {}}, &module), Status::kInvalidImage);
  EXPECT_EQ(driver->loadModule({"cubin", {std::byte{1}}, {}}, &module), Status::kNoBinaryForGpu);
  EXPECT_EQ(driver->loadModule({"twice", {}, {{"a", &addKernel}, {"a", &addKernel}}}, &module), Status::kInvalidImage);
  EXPECT_EQ(driver->moduleFunction(rigs[0].module, "sub", &function), Status::kNotFound);
}

TEST_F(SimAffinityTest, DestroyedStreamsAndEventsAre400) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  ok(driver->destroyEvent(event));
  EXPECT_EQ(driver->recordEvent(event, {}), Status::kInvalidHandle);
  EXPECT_EQ(driver->destroyEvent(event), Status::kInvalidHandle);
  ok(driver->destroyStream(rigs[0].stream));
  EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kInvalidHandle);
  EXPECT_EQ(driver->synchronizeStream(rigs[0].stream), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, DevicesOutsideTheTopologyAre101) {
  Context context;
  MemoryInfo info;
  bool can = true;
  for (int device : {-1, 2}) {
    EXPECT_EQ(driver->primaryContext(device, &context), Status::kInvalidDevice);
    EXPECT_EQ(driver->createContext(device, &context), Status::kInvalidDevice);
    EXPECT_EQ(driver->memoryInfo(device, &info), Status::kInvalidDevice);
    EXPECT_EQ(driver->canAccessPeer(0, device, &can), Status::kInvalidDevice);
    EXPECT_FALSE(can);
  }
}

TEST_F(SimAffinityTest, AnEmptyLaunchShapeIsInvalid) {
  use(0);
  LaunchShape shape;
  shape.grid[1] = 0;
  EXPECT_EQ(driver->launch(rigs[0].add, shape, {}, {}), Status::kInvalidValue);
}

TEST_F(SimAffinityTest, TheLogNamesBothContextsOfARefusedLaunch) {
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
  EXPECT_NE(record.detail.find("(device 0), the stream belongs to"), std::string::npos) << record.detail;
}

TEST_F(SimAffinityTest, ContextGuardBindsADeviceAndRestoresTheFormer) {
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
  EXPECT_THROW(ContextGuard(*driver, 9), DeviceError);
  std::thread([&] {
    { const ContextGuard guard(*driver, 1); }
    Context none{1};
    ok(driver->current(&none));
    EXPECT_FALSE(none);
  }).join();
}

}  // namespace
}  // namespace redraft::devices
