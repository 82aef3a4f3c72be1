#include "harness/events.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

EventHead headOf(const std::string& role, std::int64_t step) {
  EventHead head;
  head.role = role;
  head.step = step;
  head.phase = "backward";
  return head;
}

/// One event of every type, with every key set.
std::vector<EventBody> everyBody() {
  DriverCall call;
  call.call = "copy";
  call.status = 700;
  call.statusName = "CUDA_ERROR_ILLEGAL_ADDRESS";
  call.device = 1;
  call.context = 2;
  call.stream = 3;
  call.object = 4;
  call.objectDevice = 5;
  call.objectContext = 6;
  call.name = "k";
  call.from = -1;
  call.to = 7;
  call.staged = true;
  call.bytes = 8;
  call.foreign = {{"mask", 6, 9, true}};
  ExceptionSeen exception{"what\n\"quoted\" \xff", "E", 400, "launch", 7, std::nullopt, {"f1", "f2"}};
  RunBegin begin;
  begin.scenario = "s";
  return {begin,
          RoleBegin{6},
          RoleEnd{6},
          SyncMark{"step_begin", 1},
          call,
          CacheMark{"hit", "attention", 7, 2},
          StepDone{0.5, 1},
          ReplicaCheck{false, {{"a", "1"}}},
          exception,
          RunEnd{"completed", 3}};
}

TEST(EventsTest, EveryEventComesBackAsItWasWritten) {
  for (const EventBody& body : everyBody()) {
    Event event;
    event.head = headOf("drafter[1]", 3);
    event.body = body;
    const std::string line = eventLine(event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(eventLine(parseEventLine(line, "here")), line);
  }
}

TEST(EventsTest, ALossThatIsNoNumberIsStillARecord) {
  Event event;
  event.body = StepDone{std::nan(""), 0};
  EXPECT_TRUE(std::isnan(parseEventLine(eventLine(event), "here").as<StepDone>()->loss));
}

TEST(EventsTest, ConcurrentWritersLeaveWholeLinesNumberedInFileOrder) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  constexpr int kThreads = 4, kEach = 200;
  {
    EventWriter writer(path);
    writer.write({}, RunBegin{});
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&writer, i] {
        for (int k = 0; k < kEach; ++k) writer.write(headOf("drafter[" + std::to_string(i) + "]", k), SyncMark{"p", k});
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(writer.count(), kThreads * kEach + 1);
  }
  const EventLog log = readEvents(path);
  EXPECT_EQ(log.problem, "");
  EXPECT_EQ(log.events.size(), static_cast<std::size_t>(kThreads * kEach + 1));
}

class BrokenLogTest : public ::testing::Test {
 protected:
  std::string problemOf(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return readEvents(path_).problem;
  }
  static std::string line(std::int64_t seq, EventBody body) {
    Event event;
    event.head.seq = seq;
    event.body = std::move(body);
    return eventLine(event) + "\n";
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/events.jsonl";
  const std::string begin_ = line(0, RunBegin{});
};

TEST_F(BrokenLogTest, NothingIsWrongWithAWholeLog) {
  EXPECT_EQ(problemOf(begin_ + line(1, RunEnd{"completed", 1})), "");
}

TEST_F(BrokenLogTest, WhatIsWrongIsNamedWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {begin_ + "{\"seq\":1", "jsonl:2: the last line is torn"},
      {begin_ + line(2, RunEnd{}), "event 2 where 1 belongs"},
      {begin_ + line(1, RunBegin{}), "run.begin belongs at the start"},
      {line(0, RunEnd{}), "run.begin belongs at the start"},
      {begin_ + "[]\n", "not a JSON object"},
      {begin_ + "\n", "not a JSON object"},
      {begin_ + R"({"seq":1,"ns":0,"thread":1,"type":"stepp"})"
                "\n",
       "no such event type"},
      {begin_ + R"({"seq":1,"ns":0,"thread":1,"type":"step","loss":1})"
                "\n",
       "drafter: the key is missing"},
      {begin_ + R"({"seq":1,"ns":0,"thread":1,"type":"step","loss":1,"drafter":"x"})"
                "\n",
       "expected an integer"},
      {begin_ + R"({"seq":1,"ns":0,"thread":1,"type":"step","loss":1,"drafter":99999999999})"
                "\n",
       "out of range"},
      {begin_ + R"({"seq":1,"ns":0,"thread":1,"type":"step","loss":1,"drafter":0,"draftr":0})"
                "\n",
       "unknown key"},
      {begin_ + line(1, RunEnd{"completed", 1}) + line(2, SyncMark{}), "an event after run.end"},
  };
  for (const auto& [bytes, problem] : cases)
    EXPECT_NE(problemOf(bytes).find(problem), std::string::npos) << problem << "\nin: " << problemOf(bytes);
  RunBegin other;
  other.schema = "redraft.events/2";
  EXPECT_NE(problemOf(line(0, other)).find("redraft.events/2"), std::string::npos);
}

TEST_F(BrokenLogTest, ALineWithoutEndIsAProblemNotAnAllocation) {
  EXPECT_NE(problemOf(begin_ + std::string(3u << 20, 'x')).find("longer than 1 MiB"), std::string::npos);
}

TEST_F(BrokenLogTest, EventsBeforeTheProblemAreKept) {
  std::ofstream(path_, std::ios::binary) << begin_ << line(1, SyncMark{"p", 1}) << "{";
  EXPECT_EQ(readEvents(path_).events.size(), 2u);
}

TEST_F(BrokenLogTest, AGrowingLogIsFollowedLineByLine) {
  EventReader reader(path_);
  EXPECT_FALSE(reader.poll());
  std::ofstream file(path_, std::ios::binary);
  file << begin_.substr(0, 10) << std::flush;
  EXPECT_FALSE(reader.poll());
  EXPECT_EQ(reader.log().events.size(), 0u);
  file << begin_.substr(10) << line(1, SyncMark{"p", 1}) << std::flush;
  EXPECT_FALSE(reader.poll());
  EXPECT_EQ(reader.log().events.size(), 2u);
  EXPECT_EQ(reader.finish().problem, "");
}

TEST_F(BrokenLogTest, OnePollReadsAPartOfWhatIsThere) {
  std::ofstream file(path_, std::ios::binary);
  file << begin_;
  constexpr std::size_t kEvents = 40'000;  // about 3 MiB
  for (std::size_t i = 1; i <= kEvents; ++i) file << line(static_cast<std::int64_t>(i), SyncMark{"p", 1});
  file.flush();
  EventReader reader(path_);
  EXPECT_TRUE(reader.poll());
  EXPECT_GT(reader.log().events.size(), 1u);
  EXPECT_LT(reader.log().events.size(), kEvents);
  const EventLog log = reader.finish();
  EXPECT_EQ(log.problem, "");
  EXPECT_EQ(log.events.size(), kEvents + 1);
}

TEST_F(BrokenLogTest, AWriterThatCannotBeKeptUpWithIsAProblem) {
  std::ofstream(path_, std::ios::binary) << begin_;
  std::filesystem::resize_file(path_, std::size_t{80} << 20);  // sparse
  EventReader reader(path_);
  EXPECT_FALSE(reader.poll());
  EXPECT_NE(reader.log().problem.find("faster than it can be read"), std::string::npos) << reader.log().problem;
}

TEST(EventWriterTest, AfterALineThatDidNotFitNoneIsWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);  // the write is refused instead, as on a full disk
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EventWriter writer(path);
    writer.write({}, RunBegin{});
    int refused = 0;
    for (const std::size_t bytes : {std::size_t{2000}, std::size_t{1}}) {
      try {
        writer.write({}, SyncMark{std::string(bytes, 'p'), 1});
      } catch (const Error& error) {
        refused += error.kind() == ErrorKind::kEnvironment;
      }
    }
    ::_exit(refused);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(readEvents(path).events.size(), 1u);
  EXPECT_EQ(readEvents(path).problem, "");
}

}  // namespace
}  // namespace redraft::harness
