// A8 over small schedules: a producer on stream 7 of device 0, a consumer on stream 7 of device 1.
#include <gtest/gtest.h>

#include "tests/harness/affinity/trace_builder.h"

namespace redraft::harness {
namespace {

using testing_support::checkOf;
using testing_support::TraceBuilder;

constexpr std::uint32_t kHandOff = 12;

void produce(TraceBuilder& built, int stream = 7) { built.kernel("target", 0, stream).handoff = kHandOff; }

TraceRecord& consume(TraceBuilder& built, int device = 1, int stream = 7) {
  TraceRecord& record = built.kernel("drafter", device, stream);
  record.handoff = kHandOff;
  record.flags = kConsumer;
  return record;
}

TraceRecord& onStream(TraceBuilder& built, RecordKind kind, const std::string& name, int device, int stream,
                      std::int64_t link) {
  TraceRecord& record = built.add(kind, name);
  record.context = device + 1;
  record.stream = stream;
  record.link = link;
  record.thread = 10 + device;
  return record;
}

void recordEvent(TraceBuilder& built, std::int64_t link, int stream = 7) {
  onStream(built, RecordKind::kEvent, "event", 0, stream, link);
}
void waitEvent(TraceBuilder& built, std::int64_t link) {
  onStream(built, RecordKind::kSync, "Stream Wait Event", 1, 7, link);
}

void expectMissing(const TraceBuilder& built, const std::string& part) {
  const TraceCheck check = checkOf(built, "A8");
  ASSERT_EQ(check.state, AuditState::kFound) << check.reason;
  EXPECT_NE(check.violations.front().message.find(part), std::string::npos) << check.violations.front().message;
}
void expectOrdered(const TraceBuilder& built) { EXPECT_EQ(checkOf(built, "A8").state, AuditState::kClean); }

TEST(MissingWaitTest, TakesAnEventBehindTheProducerForAWait) {
  TraceBuilder built;
  produce(built);
  recordEvent(built, 5);
  waitEvent(built, 5);
  consume(built);
  expectOrdered(built);
}

TEST(MissingWaitTest, FindsNoWait) {
  TraceBuilder built;
  produce(built);
  consume(built);
  expectMissing(built, "hand-off 12: no wait between its producer (target, event 1)");
  expectMissing(built, "latent");
}

TEST(MissingWaitTest, SaysWhenItRaced) {
  TraceBuilder built;
  produce(built);
  built.trace.records.back().durationNs = 1'000'000;
  consume(built);
  expectMissing(built, "racing");
}

TEST(MissingWaitTest, FindsAnEventRecordedBeforeTheProducer) {
  TraceBuilder built;
  recordEvent(built, 5);
  produce(built);
  waitEvent(built, 5);
  consume(built);
  expectMissing(built, "no wait");
}

TEST(MissingWaitTest, FindsAWaitForAnEarlierRecordingOfTheSameEvent) {
  TraceBuilder built;
  recordEvent(built, 5);
  produce(built);
  recordEvent(built, 6);
  waitEvent(built, 5);
  consume(built);
  expectMissing(built, "no wait");
}

TEST(MissingWaitTest, FindsAWaitBehindTheConsumer) {
  TraceBuilder built;
  produce(built);
  recordEvent(built, 5);
  consume(built);
  waitEvent(built, 5);
  expectMissing(built, "no wait");
}

TEST(MissingWaitTest, FollowsAWaitOfTheHost) {
  TraceBuilder built;
  produce(built);
  // The drafter's thread waits for the target's stream, then launches.
  onStream(built, RecordKind::kSync, "Stream Sync", 0, 7, -1).thread = 11;
  consume(built);
  expectOrdered(built);
  TraceBuilder other;
  produce(other);
  onStream(other, RecordKind::kSync, "Stream Sync", 0, 7, -1).thread = 99;
  consume(other);
  expectMissing(other, "no wait");
}

TEST(MissingWaitTest, FollowsTheOrderOfOneStream) {
  TraceBuilder built;
  built.add(RecordKind::kSync, "Context Sync").context = 9;
  built.add(RecordKind::kEvent, "event");
  produce(built);
  consume(built, 0);
  expectOrdered(built);
}

TEST(MissingWaitTest, FollowsTheNullStreamsOrderUnlessAStreamIsNonBlocking) {
  for (const bool nonBlocking : {false, true}) {
    TraceBuilder built;
    built.context(0, 10, 3);
    TraceRecord& stream = onStream(built, RecordKind::kStream, "stream", 0, 8, -1);
    stream.flags = nonBlocking ? kNonBlocking : 0;
    produce(built, 3);
    consume(built, 0, 8);
    if (nonBlocking) {
      expectMissing(built, "no wait");
    } else {
      expectOrdered(built);
    }
  }
}

/// Ends as a program declares them: the target's thread gives, the drafter's takes.
TraceRecord& declareEnd(TraceBuilder& built, bool taken, int device, int stream = 7) {
  TraceRecord& end = onStream(built, RecordKind::kHandOff, taken ? "taken" : "given", device, stream, -1);
  end.handoff = kHandOff;
  end.flags = taken ? kConsumer : 0;
  return end;
}

TEST(MissingWaitTest, TakesWorkForTheEndsThatAreDeclaredBesideIt) {
  for (const bool waits : {true, false}) {
    TraceBuilder built;
    built.kernel("target", 0);
    declareEnd(built, false, 0);
    recordEvent(built, 5);
    declareEnd(built, true, 1);
    if (waits) waitEvent(built, 5);
    built.kernel("drafter", 1);
    if (waits) {
      expectOrdered(built);
    } else {
      expectMissing(built, "hand-off 12: no wait between its producer (target, event 1) and this");
    }
  }
}

TEST(MissingWaitTest, WhatTheGiverDoesBehindADeclaredEndIsNotHandedOver) {
  TraceBuilder built;
  built.kernel("target", 0);
  declareEnd(built, false, 0);
  recordEvent(built, 5);
  built.kernel("target", 0);
  declareEnd(built, true, 1);
  waitEvent(built, 5);
  built.kernel("drafter", 1);
  expectOrdered(built);
}

TEST(MissingWaitTest, EveryTakerOfADeclaredHandOffWaits) {
  TraceBuilder built;
  built.kernel("target", 0);
  declareEnd(built, false, 0);
  recordEvent(built, 5);
  declareEnd(built, true, 1);
  waitEvent(built, 5);
  built.kernel("drafter", 1);
  declareEnd(built, true, 2);
  built.kernel("drafter", 2);
  const TraceCheck check = checkOf(built, "A8");
  ASSERT_EQ(check.count, 1);
  EXPECT_EQ(check.violations[0].device, 2);
}

TEST(MissingWaitTest, TheWorkOfAnotherThreadOnTheTakersStreamIsNotTheTakers) {
  TraceBuilder built;
  built.kernel("target", 0);
  declareEnd(built, false, 0);
  declareEnd(built, true, 1).thread = 99;
  built.kernel("drafter", 1);
  EXPECT_EQ(checkOf(built, "A8").state, AuditState::kNotComputable) << "nothing shows what took it";
}

TEST(MissingWaitTest, DeclaredEndsThatMeetNoWorkTellNothing) {
  TraceBuilder built;
  built.kernel("target", 0);
  declareEnd(built, false, 0, 9);
  declareEnd(built, true, 1);
  built.kernel("drafter", 1);
  const TraceCheck check = checkOf(built, "A8");
  EXPECT_EQ(check.state, AuditState::kNotComputable);
  EXPECT_NE(check.reason.find("streams that no work is on"), std::string::npos) << check.reason;
}

TEST(MissingWaitTest, ACaptureThatDeclaresNoneHasNothingToCheck) {
  TraceBuilder built;
  built.kernel("target", 0);
  expectOrdered(built);
}

TEST(MissingWaitTest, TakesTheRacesThatASimulatedDriverSaw) {
  TraceBuilder built;
  built.add(RecordKind::kRace, "copy").detail = built.trace.strings.intern("stream 1 wrote what stream 2 reads");
  expectMissing(built, "stream 1 wrote");
}

}  // namespace
}  // namespace redraft::harness
