#include "devices/driver_log.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace redraft::devices {
namespace {

LogRecord named(std::string name, CallKind kind = CallKind::kLaunch) {
  LogRecord record = newLogRecord(kind);
  record.name = std::move(name);
  return record;
}

TEST(DriverLogTest, KeepsTheNewestAndCountsWhatTheBoundPushedOut) {
  const auto log = makeDriverLog(2);
  for (const char* name : {"a", "b", "c"}) log->add(named(name));
  const auto records = log->records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].name, "b");
  EXPECT_EQ(records[0].sequence, 2u);
  EXPECT_EQ(records[1].name, "c");
  EXPECT_EQ(log->dropped(), 1u);
}

TEST(DriverLogTest, MutedKindsAreCountedButNeitherKeptNorPassedOn) {
  const auto log = makeDriverLog(8);
  int passed = 0;
  log->setSink([&](const LogRecord&) { ++passed; });
  log->mute(CallKind::kAllocate, true);
  EXPECT_FALSE(log->wants(CallKind::kAllocate));
  log->add(named("x", CallKind::kAllocate));
  log->skip(CallKind::kAllocate);
  EXPECT_EQ(log->count(CallKind::kAllocate), 2u);
  EXPECT_TRUE(log->records().empty());
  EXPECT_EQ(passed, 0);
  log->mute(CallKind::kAllocate, false);
  log->add(named("y", CallKind::kAllocate));
  EXPECT_EQ(log->records().size(), 1u);
  EXPECT_EQ(passed, 1);
}

TEST(DriverLogTest, RefusedCallsOfAMutedKindAreKept) {
  const auto log = makeDriverLog(8);
  log->mute(CallKind::kAllocate, true);
  LogRecord record = named("x", CallKind::kAllocate);
  record.status = Status::kOutOfMemory;
  log->add(record);
  EXPECT_EQ(log->records().size(), 1u);
}

TEST(DriverLogTest, TheSinkMayReadTheLogAndReplaceItself) {
  const auto log = makeDriverLog(8);
  std::size_t seen = 0;
  log->setSink([&](const LogRecord&) {
    seen = log->records().size();
    log->setSink(nullptr);
  });
  log->add(named("a"));
  log->add(named("b"));
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(log->records().size(), 2u);
}

TEST(DriverLogTest, WithoutRoomRecordsStillReachTheSink) {
  const auto log = makeDriverLog(0);
  std::string name;
  log->setSink([&](const LogRecord& record) { name = record.name; });
  log->add(named("a"));
  EXPECT_EQ(name, "a");
  EXPECT_TRUE(log->records().empty());
}

TEST(DriverLogTest, SequenceNumbersAreUniqueAndOrderedOverThreads) {
  const auto log = makeDriverLog(4000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) log->add(named("x"));
    });
  }
  for (auto& thread : threads) thread.join();
  const auto records = log->records();
  ASSERT_EQ(records.size(), 4000u);
  std::set<std::uint64_t> callers;
  for (std::size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].sequence, i + 1);
    callers.insert(records[i].thread);
  }
  EXPECT_EQ(callers.size(), 4u);
  EXPECT_EQ(log->count(CallKind::kLaunch), 4000u);
}

TEST(DriverLogTest, EveryKindHasItsOwnName) {
  std::set<std::string> names;
  for (int kind = 0; kind < kCallKinds; ++kind) names.insert(callKindName(static_cast<CallKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCallKinds));
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(callKindName(CallKind::kModuleLoad), "module_load");
  EXPECT_STREQ(callKindName(CallKind::kCacheMiss), "cache_miss");
  EXPECT_STREQ(callKindName(CallKind::kRace), "race");
}

}  // namespace
}  // namespace redraft::devices
