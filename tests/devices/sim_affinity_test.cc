// What the simulator says beyond the rules that it shares with GPUs (affinity_test.cc): where CUDA leaves room, or
// leaves a stale handle to luck.
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

using SimAffinityTest = SimTest;

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

TEST_F(SimAffinityTest, RecordingAnEventOnAnotherContextsNullStreamIs400) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  use(1);
  EXPECT_EQ(driver->recordEvent(event, {}), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, TheTimeBetweenEventsOfTwoContextsIs400) {
  Event first;
  Event other;
  float millis = -1;
  use(0);
  ok(driver->createEvent(&first));
  ok(driver->recordEvent(first, {}));
  use(1);
  ok(driver->createEvent(&other));
  ok(driver->recordEvent(other, {}));
  EXPECT_EQ(driver->elapsedMillis(first, other, &millis), Status::kInvalidHandle);
}

TEST_F(SimAffinityTest, ALaunchAndACopyOnANewThreadAre201WhateverTheirStream) {
  std::thread([&] {
    EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kInvalidContext);
    EXPECT_EQ(driver->copy(rigs[0].memory, rigs[0].memory, 4, {}), Status::kInvalidContext);
  }).join();
  EXPECT_EQ(*rigs[0].memory, 0.0f);
}

TEST_F(SimAffinityTest, HasNoMultiprocessorsToShareOut) {
  std::vector<GreenStream> streams;
  EXPECT_EQ(driver->greenStreams(0, 2, &streams), Status::kNotSupported);
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

TEST_F(SimAffinityTest, ARefusedLaunchSaysWhichContextsDiffer) {
  use(1);
  EXPECT_EQ(launch(rigs[0].add, rigs[1].stream, rigs[1].memory), Status::kInvalidHandle);
  const LogRecord record = lastRecord(CallKind::kLaunch);
  EXPECT_NE(record.detail.find("(device 0), the stream belongs to"), std::string::npos) << record.detail;
}

TEST_F(SimAffinityTest, ContextGuardLeavesANewThreadWithoutAContext) {
  std::thread([&] {
    { const ContextGuard guard(*driver, 1); }
    Context none{1};
    ok(driver->current(&none));
    EXPECT_FALSE(none);
  }).join();
}

}  // namespace
}  // namespace redraft::devices
