// Memory of another device without peer access: silent at the launch, 700 at the next synchronisation, and then
// everywhere.
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

class SimPoisonTest : public SimTest {
 protected:
  /// Device 1 touches device 0's memory.
  Status touchOther() {
    use(1);
    return launch(rigs[1].add, rigs[1].stream, rigs[0].memory, "block_mask.columns");
  }
};

TEST_F(SimPoisonTest, TheLaunchSucceedsAndTheNextSynchronisationIs700) {
  EXPECT_EQ(touchOther(), Status::kSuccess);
  EXPECT_FALSE(driver->poisoned());
  EXPECT_EQ(*rigs[0].memory, 0.0f) << "a kernel that faults writes nothing";
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kIllegalAddress);
  EXPECT_TRUE(driver->poisoned());
}

TEST_F(SimPoisonTest, EveryWayOfSynchronisingFindsTheFault) {
  const std::vector<std::pair<const char*, Status (*)(SimDriver&, const Rig&, Event)>> ways = {
      {"stream", [](SimDriver& d, const Rig& rig, Event) { return d.synchronizeStream(rig.stream); }},
      {"query", [](SimDriver& d, const Rig& rig, Event) { return d.queryStream(rig.stream); }},
      {"context", [](SimDriver& d, const Rig&, Event) { return d.synchronizeContext(); }},
      {"event", [](SimDriver& d, const Rig&, Event event) { return d.synchronizeEvent(event); }},
      {"copy to the host",
       [](SimDriver& d, const Rig& rig, Event) {
         float host = 0;
         return d.copy(&host, rig.memory, sizeof host, rig.stream);
       }},
  };
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    driver = makeSimDriver({fullTopology(2)});
    for (int device : {0, 1}) rigs[device] = makeRig(device);
    Event event;
    ok(driver->createEvent(&event));
    ok(driver->recordEvent(event, rigs[1].stream));
    ok(touchOther());
    EXPECT_EQ(way(*driver, rigs[1], event), Status::kIllegalAddress);
  }
}

TEST_F(SimPoisonTest, APoisonedProcessFailsEveryCallOnEveryDeviceAndThread) {
  Event event;
  use(0);
  ok(driver->createEvent(&event));
  ok(touchOther());
  EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress);
  std::thread([&] {
    Context context;
    Module module;
    Stream stream;
    void* pointer = nullptr;
    int device = -1;
    MemoryInfo info;
    bool can = false;
    EXPECT_EQ(driver->setCurrent(rigs[0].context), Status::kIllegalAddress);
    EXPECT_EQ(driver->current(&context), Status::kIllegalAddress);
    EXPECT_EQ(driver->contextDevice(rigs[0].context, &device), Status::kIllegalAddress);
    EXPECT_EQ(driver->primaryContext(0, &context), Status::kIllegalAddress);
    EXPECT_EQ(driver->createContext(0, &context), Status::kIllegalAddress);
    EXPECT_EQ(driver->loadModule(addImage(), &module), Status::kIllegalAddress);
    EXPECT_EQ(driver->createStream(&stream), Status::kIllegalAddress);
    EXPECT_EQ(driver->recordEvent(event, {}), Status::kIllegalAddress);
    EXPECT_EQ(driver->waitEvent({}, event), Status::kIllegalAddress);
    EXPECT_EQ(driver->queryEvent(event), Status::kIllegalAddress);
    EXPECT_EQ(driver->allocate(16, &pointer), Status::kIllegalAddress);
    EXPECT_EQ(pointer, nullptr);
    EXPECT_EQ(driver->copy(rigs[0].memory, rigs[0].memory, 4, {}), Status::kIllegalAddress);
    EXPECT_EQ(launch(rigs[0].add, rigs[0].stream, rigs[0].memory), Status::kIllegalAddress);
    EXPECT_EQ(driver->memoryInfo(0, &info), Status::kIllegalAddress);
    EXPECT_EQ(driver->canAccessPeer(0, 1, &can), Status::kIllegalAddress);
    EXPECT_EQ(driver->enablePeerAccess(0, 1), Status::kIllegalAddress);
    EXPECT_EQ(driver->unloadModule(rigs[0].module), Status::kIllegalAddress);
    EXPECT_EQ(driver->adoptMemory(&info, sizeof info, 0), Status::kIllegalAddress);
  }).join();
}

TEST_F(SimPoisonTest, UnwindingAPoisonedProcessFreesBindsAndAnswers) {
  ok(touchOther());
  EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress);
  EXPECT_EQ(driver->free(rigs[0].memory), Status::kIllegalAddress);
  MemoryInfo info;
  EXPECT_EQ(driver->memoryInfo(0, &info), Status::kIllegalAddress);
  EXPECT_EQ(info.live, 0) << "the memory was freed all the same";
  EXPECT_EQ(driver->setCurrent(rigs[0].context), Status::kIllegalAddress);
  Context context;
  EXPECT_EQ(driver->current(&context), Status::kIllegalAddress);
  EXPECT_EQ(context, rigs[0].context);
}

TEST_F(SimPoisonTest, WorkAfterTheFaultDoesNotRunInItsContextButRunsInOthers) {
  ok(touchOther());
  ok(launch(rigs[1].add, rigs[1].stream, rigs[1].memory));
  EXPECT_EQ(*rigs[1].memory, 0.0f);
  use(0);
  ok(launch(rigs[0].add, rigs[0].stream, rigs[0].memory));
  EXPECT_EQ(*rigs[0].memory, 1.0f);
  EXPECT_EQ(driver->synchronizeStream(rigs[0].stream), Status::kIllegalAddress);
}

TEST_F(SimPoisonTest, WithPeerAccessItIsSilentAndOnlyTheLogShowsIt) {
  ok(driver->enablePeerAccess(1, 0));
  ok(touchOther());
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kSuccess);
  EXPECT_EQ(*rigs[0].memory, 1.0f);
  const LogRecord record = lastRecord(CallKind::kLaunch);
  EXPECT_EQ(record.status, Status::kSuccess);
  ASSERT_EQ(record.foreign.size(), 1u);
  EXPECT_EQ(record.foreign[0].name, "block_mask.columns");
  EXPECT_EQ(record.foreign[0].device, 0);
  EXPECT_EQ(record.foreign[0].bytes, 4);
  EXPECT_TRUE(record.foreign[0].written);
}

TEST_F(SimPoisonTest, PeerAccessIsOneWay) {
  ok(driver->enablePeerAccess(0, 1));
  ok(touchOther());
  EXPECT_EQ(driver->synchronizeStream(rigs[1].stream), Status::kIllegalAddress);
}

TEST_F(SimPoisonTest, AFaultingLaunchIsLoggedWithWhatItTouched) {
  ok(touchOther());
  const LogRecord record = lastRecord(CallKind::kLaunch);
  ASSERT_EQ(record.foreign.size(), 1u);
  EXPECT_EQ(record.foreign[0].device, 0);
  EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress);
  EXPECT_NE(lastRecord(CallKind::kSynchronize).detail.find("\"block_mask.columns\" (4 bytes), which lies on device 0"),
            std::string::npos)
      << lastRecord(CallKind::kSynchronize).detail;
}

TEST_F(SimPoisonTest, HostMemoryFreedMemoryAndAnOverrunAreIllegal) {
  float host = 0;
  const auto poisons = [&](float* pointer, std::size_t bytes) {
    driver = makeSimDriver({fullTopology(2)});
    for (int device : {0, 1}) rigs[device] = makeRig(device);
    if (pointer == nullptr) pointer = rigs[1].memory;
    float value = 1;
    void* address = pointer;
    ok(driver->launch(rigs[1].add, {}, rigs[1].stream, {{&address, &value}, {{"x", pointer, bytes, true}}}));
    EXPECT_EQ(lastRecord(CallKind::kLaunch).foreign.at(0).device, -1);
    return driver->synchronizeContext() == Status::kIllegalAddress;
  };
  EXPECT_TRUE(poisons(&host, sizeof host));
  EXPECT_TRUE(poisons(nullptr, 2 * sizeof(float))) << "beyond the end of an allocation";
  EXPECT_EQ(host, 0.0f);

  driver = makeSimDriver({fullTopology(2)});
  for (int device : {0, 1}) rigs[device] = makeRig(device);
  ok(driver->free(rigs[1].memory));
  ok(launch(rigs[1].add, rigs[1].stream, rigs[1].memory));
  EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress) << "use after free";
}

TEST_F(SimPoisonTest, RegisteredHostMemoryAndAdoptedMemoryMayBeTouched) {
  float pinned = 0;
  float adopted = 0;
  use(1);
  ok(driver->registerHost(&pinned, sizeof pinned));
  ok(driver->adoptMemory(&adopted, sizeof adopted, 1));
  ok(launch(rigs[1].add, rigs[1].stream, &pinned));
  ok(launch(rigs[1].add, rigs[1].stream, &adopted));
  EXPECT_EQ(driver->synchronizeContext(), Status::kSuccess);
  EXPECT_EQ(pinned, 1.0f);
  EXPECT_EQ(adopted, 1.0f);
  ok(driver->unregisterHost(&pinned));
  ok(driver->releaseMemory(&adopted));
  ok(launch(rigs[1].add, rigs[1].stream, &pinned));
  EXPECT_EQ(driver->synchronizeContext(), Status::kIllegalAddress);
}

TEST_F(SimPoisonTest, TheErrorTellsWhoFaulted) {
  setOriginProvider([] { return Origin{roleId("drafter[1]"), Phase::kDrafterForward, 8}; });
  ok(touchOther());
  setOriginProvider(nullptr);
  try {
    check(driver->synchronizeContext(), "synchronizeContext", 1);
    FAIL() << "the fault did not surface";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.status(), Status::kIllegalAddress);
    EXPECT_NE(std::string(error.what()).find("\"add\" of drafter[1] on device 1 touched \"block_mask.columns\""),
              std::string::npos)
        << error.what();
  }
}

class SimNoPeerTest : public SimTest {
 protected:
  SimNoPeerTest() : SimTest(fullTopology(2, false)) {}
};

TEST_F(SimNoPeerTest, ATopologyWithoutPeerAccessRefusesToEnableIt) {
  bool can = true;
  EXPECT_EQ(driver->canAccessPeer(0, 1, &can), Status::kSuccess);
  EXPECT_FALSE(can);
  EXPECT_EQ(driver->enablePeerAccess(0, 1), Status::kPeerAccessUnsupported);
}

TEST_F(SimPoisonTest, PeerAccessIsEnabledAndDisabledOnce) {
  bool can = false;
  EXPECT_EQ(driver->canAccessPeer(0, 1, &can), Status::kSuccess);
  EXPECT_TRUE(can);
  EXPECT_EQ(driver->disablePeerAccess(0, 1), Status::kPeerAccessNotEnabled);
  EXPECT_EQ(driver->enablePeerAccess(0, 1), Status::kSuccess);
  EXPECT_EQ(driver->enablePeerAccess(0, 1), Status::kPeerAccessAlreadyEnabled);
  EXPECT_EQ(driver->disablePeerAccess(0, 1), Status::kSuccess);
  EXPECT_EQ(driver->disablePeerAccess(0, 1), Status::kPeerAccessNotEnabled);
  EXPECT_EQ(driver->enablePeerAccess(1, 1), Status::kPeerAccessUnsupported);
}

}  // namespace
}  // namespace redraft::devices
