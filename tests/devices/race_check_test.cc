// The happens-before check through the driver: which orders of streams, events and synchronisations count.
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

class RaceCheckTest : public SimTest {
 protected:
  RaceCheckTest() {
    use(0);
    ok(driver->createStream(&second));
    ok(driver->createEvent(&event));
    void* pointer = nullptr;
    ok(driver->allocate(16 * sizeof(float), &pointer));
    array = static_cast<float*>(pointer);
  }

  enum Mode { kRead, kWrite };
  void touch(Stream stream, Mode mode, int first = 0, int count = 16) {
    float value = 0;
    void* pointer = array;
    ok(driver->launch(
        rigs[0].add, {}, stream,
        {{&pointer, &value}, {{mode == kWrite ? "out" : "in", array + first, count * sizeof(float), mode == kWrite}}}));
  }
  /// Runs it to its end; that this thread waited for it is no order that the driver sees.
  template <class Body>
  void onAnotherThread(const Body& body) {
    std::thread([&] {
      use(0);
      body();
    }).join();
  }
  std::size_t races() const { return records(CallKind::kRace).size(); }

  Stream first() const { return rigs[0].stream; }
  Stream second;
  Event event;
  float* array = nullptr;
};

TEST_F(RaceCheckTest, WorkOnOneStreamIsOrdered) {
  touch(first(), kWrite);
  touch(first(), kRead);
  touch(first(), kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, AReadOnAnotherStreamWithoutAnEdgeIsARaceThatNamesBothSides) {
  setOriginProvider([] { return Origin{roleId("target[0]"), Phase::kTargetForward, 3}; });
  touch(first(), kWrite);
  setOriginProvider([] { return Origin{roleId("drafter[0]"), Phase::kDrafterForward, 4}; });
  touch(second, kRead, 4, 4);
  setOriginProvider(nullptr);
  ASSERT_EQ(races(), 1u);
  const LogRecord record = lastRecord(CallKind::kRace);
  EXPECT_EQ(record.stream, second.id);
  EXPECT_EQ(record.object, first().id);
  EXPECT_EQ(record.bytes, 16);
  EXPECT_NE(record.detail.find("add reads \"in\" on stream"), std::string::npos) << record.detail;
  EXPECT_NE(record.detail.find("drafter[0], step 4"), std::string::npos) << record.detail;
  EXPECT_NE(record.detail.find("add writes \"out\" on stream"), std::string::npos) << record.detail;
  EXPECT_NE(record.detail.find("target[0], step 3"), std::string::npos) << record.detail;
}

TEST_F(RaceCheckTest, AWriteAfterAnUnorderedReadIsARace) {
  touch(first(), kRead);
  touch(second, kRead);
  EXPECT_EQ(races(), 0u) << "two reads";
  touch(second, kWrite);
  EXPECT_EQ(races(), 1u);
}

TEST_F(RaceCheckTest, AnEventOrdersWhatWasBeforeItsRecordOnly) {
  touch(first(), kWrite, 0, 8);
  ok(driver->recordEvent(event, first()));
  touch(first(), kWrite, 8, 8);
  ok(driver->waitEvent(second, event));
  touch(second, kRead, 0, 8);
  EXPECT_EQ(races(), 0u);
  touch(second, kRead, 8, 8);
  EXPECT_EQ(races(), 1u);
}

TEST_F(RaceCheckTest, EventsOrderThroughAThirdStream) {
  Stream third;
  Event next;
  ok(driver->createStream(&third));
  ok(driver->createEvent(&next));
  touch(first(), kWrite);
  ok(driver->recordEvent(event, first()));
  ok(driver->waitEvent(second, event));
  ok(driver->recordEvent(next, second));
  ok(driver->waitEvent(third, next));
  touch(third, kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, AHostThreadThatWaitedOrdersWhatItIssuesLater) {
  touch(first(), kWrite);
  ok(driver->synchronizeStream(first()));
  touch(second, kWrite);
  EXPECT_EQ(races(), 0u);
  touch(first(), kRead);
  EXPECT_EQ(races(), 1u) << "the synchronisation was before the second write";
}

TEST_F(RaceCheckTest, ASynchronisationByAnotherThreadOrdersNothingHere) {
  touch(first(), kWrite);
  onAnotherThread([&] { ok(driver->synchronizeStream(first())); });
  touch(second, kWrite);
  EXPECT_EQ(races(), 1u) << "nothing tells this thread that the other one has waited";
}

TEST_F(RaceCheckTest, AHandOffPassesOnWhatTheGiverWaitedFor) {
  touch(first(), kWrite);
  HostMark mark;
  onAnotherThread([&] {
    ok(driver->synchronizeStream(first()));
    driver->publish(mark);
  });
  driver->observe(mark);
  touch(second, kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, AHandOffPassesOnNothingThatTheGiverWaitedForLater) {
  touch(first(), kWrite);
  HostMark mark;
  onAnotherThread([&] {
    driver->publish(mark);
    ok(driver->synchronizeStream(first()));
  });
  driver->observe(mark);
  touch(second, kWrite);
  EXPECT_EQ(races(), 1u);
}

TEST_F(RaceCheckTest, AHandOffPassesOnWhatItsGiverWasHanded) {
  touch(first(), kWrite);
  ok(driver->synchronizeStream(first()));
  HostMark to, back;
  driver->publish(to);
  onAnotherThread([&] {
    driver->observe(to);
    touch(second, kWrite);
    ok(driver->synchronizeStream(second));
    driver->publish(back);
  });
  EXPECT_EQ(races(), 0u);
  driver->observe(back);
  touch(first(), kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, AnEventCarriesWhatItsThreadHadWaitedForWhenItRecorded) {
  touch(first(), kWrite);
  onAnotherThread([&] {
    ok(driver->synchronizeStream(first()));
    ok(driver->recordEvent(event, second));
  });
  Stream third;
  ok(driver->createStream(&third));
  ok(driver->waitEvent(third, event));
  touch(third, kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, AThreadThatAppearsKnowsWhatItsStarterMayKnow) {
  touch(first(), kWrite);
  ok(driver->synchronizeStream(first()));
  onAnotherThread([&] { touch(second, kWrite); });
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, ARoleIsOneHostThreadOnWhateverThreadItsWorkRuns) {
  setOriginProvider([] { return Origin{roleId("drafter[0]"), Phase::kBackward, 1}; });
  touch(first(), kWrite);
  onAnotherThread([&] { ok(driver->synchronizeStream(first())); });  // as autograd's thread does for its role
  touch(second, kWrite);
  EXPECT_EQ(races(), 0u);
  setOriginProvider([] { return Origin{roleId("drafter[1]"), Phase::kBackward, 1}; });
  touch(second, kRead, 0, 1);  // it appears here, and knows of the wait above
  setOriginProvider([] { return Origin{roleId("drafter[0]"), Phase::kBackward, 2}; });
  ok(driver->synchronizeStream(second));
  setOriginProvider([] { return Origin{roleId("drafter[1]"), Phase::kBackward, 2}; });
  touch(first(), kRead, 4, 1);
  setOriginProvider(nullptr);
  EXPECT_EQ(races(), 1u) << "what drafter[0] waited for says nothing to drafter[1], on the same thread";
}

TEST_F(RaceCheckTest, AContextWideSynchronisationCoversItsStreamsOnly) {
  touch(first(), kWrite);
  use(1);
  ok(driver->synchronizeContext());
  use(0);
  touch(second, kRead, 0, 4);
  EXPECT_EQ(races(), 1u);
  ok(driver->synchronizeContext());
  touch(second, kRead, 4, 4);
  EXPECT_EQ(races(), 1u);
}

TEST_F(RaceCheckTest, DisjointRangesDoNotRace) {
  touch(first(), kWrite, 0, 8);
  touch(second, kWrite, 8, 8);
  EXPECT_EQ(races(), 0u);
  touch(second, kRead, 7, 2);
  EXPECT_EQ(races(), 1u);
}

TEST_F(RaceCheckTest, FreedMemoryIsForgotten) {
  touch(first(), kWrite);
  ok(driver->free(array));
  void* pointer = nullptr;
  ok(driver->allocate(16 * sizeof(float), &pointer));
  array = static_cast<float*>(pointer);
  touch(second, kWrite);
  EXPECT_EQ(races(), 0u);
}

TEST_F(RaceCheckTest, CopiesBetweenDevicesTakePart) {
  touch(first(), kWrite);
  use(1);
  ok(driver->copy(rigs[1].memory, array, sizeof(float), rigs[1].stream));
  ASSERT_EQ(races(), 1u);
  EXPECT_NE(lastRecord(CallKind::kRace).detail.find("copy reads \"source\""), std::string::npos);
}

TEST_F(RaceCheckTest, ACopyToTheHostOrdersItsStream) {
  float host = 0;
  touch(first(), kWrite);
  ok(driver->copy(&host, array, sizeof host, first()));
  touch(second, kRead);
  EXPECT_EQ(races(), 0u);
}

TEST(RaceCheckOptionTest, NothingIsRecordedWhenItIsOff) {
  const auto driver = makeSimDriver({fullTopology(1), 1u << 20, 64, false});
  const ContextGuard guard(*driver, 0);
  Stream streams[2];
  Module module;
  Function add;
  void* memory = nullptr;
  float value = 1;
  for (Stream& stream : streams) check(driver->createStream(&stream), "createStream", 0);
  check(driver->loadModule(addImage(), &module), "loadModule", 0);
  check(driver->moduleFunction(module, "add", &add), "moduleFunction", 0);
  check(driver->allocate(4, &memory), "allocate", 0);
  for (const Stream stream : streams) {
    EXPECT_EQ(driver->launch(add, {}, stream, {{&memory, &value}, {{"out", memory, 4, true}}}), Status::kSuccess);
  }
  EXPECT_EQ(driver->log().count(CallKind::kRace), 0u);
}

}  // namespace
}  // namespace redraft::devices
