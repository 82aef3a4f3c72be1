// The runner as its supervisor sees it: a child, its exit status, and the folder that it leaves.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "devices/cuda_loader.h"
#include "golden/record.h"
#include "harness/affinity/trace_audit.h"
#include "harness/symbolise.h"
#include "harness/trace/load_trace.h"
#include "scenarios/spec/store.h"
#include "tests/scenarios/runner/run_folder.h"

namespace redraft::scenarios {
namespace {

using harness::Event;
using harness::EventLog;

bool exitedWith(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

/// The run's first exception; fails the test when there is none.
Event firstException(const RunFolder& folder) {
  const EventLog log = folder.events();
  EXPECT_EQ(log.problem, "");
  const Event* event = log.first<harness::ExceptionSeen>();
  EXPECT_NE(event, nullptr) << folder.log();
  return event != nullptr ? *event : Event{{}, harness::ExceptionSeen{}};
}

std::vector<std::string> bitsOf(const RunFolder& folder) {
  std::vector<std::string> lines;
  for (const golden::StepMetrics& step : golden::loadRun(folder.path()).steps) {
    std::string line = std::to_string(step.step) + " " + step.parametersHash;
    for (const auto& [name, value] : step.values) line += " " + name + " " + toHexFloat(value);
    lines.push_back(line);
  }
  return lines;
}

TEST(RunnerTest, ACleanRunLeavesAWholeRecordAndADrafterThatDrafts) {
  const RunFolder folder(shipped("single-drafter"));
  ASSERT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  const EventLog log = folder.events();
  EXPECT_EQ(log.problem, "");
  ASSERT_FALSE(log.events.empty());
  EXPECT_NE(log.events.front().as<harness::RunBegin>(), nullptr);
  const auto* end = log.events.back().as<harness::RunEnd>();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->outcome, "completed");
  const golden::Record record = golden::loadRun(folder.path());
  EXPECT_EQ(end->steps, static_cast<std::int64_t>(record.steps.size()));
  EXPECT_EQ(record.gradients.size(), record.steps.size());
  ASSERT_TRUE(record.evaluation.has_value());
  EXPECT_GE(record.evaluation->meanAcceptLength, 1.5);
}

TEST(RunnerTest, ARunLeavesATraceInBothFormsThatKeepsToItsTopology) {
  const RunFolder folder(shipped("dual-drafter"));
  ASSERT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  const harness::Contract contract = harness::contractOf(shipped("dual-drafter").topology.resolve());
  std::vector<std::string> kineto;
  for (const std::string& name : listDirectory(folder / "trace"))
    if (name.ends_with(".kineto.json")) kineto.push_back(folder / ("trace/" + name));
  EXPECT_EQ(kineto.size(), 8u);
  const harness::TraceAudit compact =
      harness::auditTrace(harness::loadTraces({folder / "trace/run.rdtrace"}), &contract);
  const harness::TraceAudit json = harness::auditTrace(harness::loadTraces(kineto), &contract);
  EXPECT_FALSE(compact.foundAny()) << harness::auditText(compact);
  ASSERT_EQ(compact.checks.size(), json.checks.size());
  for (std::size_t i = 0; i < json.checks.size(); ++i) EXPECT_EQ(compact.checks[i].state, json.checks[i].state) << i;
  for (const harness::TraceCheck& check : json.checks) {
    if (check.id == "A1" || check.id == "A4" || check.id == "A8") {
      EXPECT_EQ(check.state, harness::AuditState::kClean) << check.id;
    }
  }
}

TEST(RunnerTest, AHandOffThatIsNotWaitedForIsInTheTraceThoughNoNumberChanges) {
  const RunFolder right(shipped("dual-drafter")), wrong(shipped("dual-drafter/missing-wait"));
  std::map<std::string, harness::TraceCheck> checks;
  for (const RunFolder* folder : {&right, &wrong}) {
    ASSERT_TRUE(exitedWith(folder->run(), 0)) << folder->log();
    harness::Trace trace = harness::loadTraces({*folder / "trace/run.rdtrace"});
    // What its driver saw of races is the second witness; here the declared ends speak alone.
    std::erase_if(trace.records,
                  [](const harness::TraceRecord& record) { return record.kind == harness::RecordKind::kRace; });
    for (const harness::TraceCheck& check : harness::auditTrace(trace, nullptr).checks)
      if (check.id == "A8") checks[folder->path()] = check;
  }
  EXPECT_EQ(bitsOf(right), bitsOf(wrong));
  EXPECT_EQ(checks.at(right.path()).state, harness::AuditState::kClean) << checks.at(right.path()).reason;
  const harness::TraceCheck& found = checks.at(wrong.path());
  ASSERT_EQ(found.state, harness::AuditState::kFound);
  EXPECT_EQ(found.violations.front().role, "drafter[0]");
  EXPECT_EQ(found.violations.front().step, 2);
  EXPECT_NE(found.violations.front().message.find("no wait between its producer (target["), std::string::npos)
      << found.violations.front().message;
  // Two micro-batches a step, and of each the copy and what follows it on the drafter's stream.
  EXPECT_EQ(found.count, 2 * 2 * (shipped("dual-drafter").training.steps - 2));
}

TEST(RunnerTest, GreenContextsOnASimulatedDeviceThatRolesShareAreUnsupported) {
  const RunFolder folder(shipped("dual-drafter/green-contexts"), [](Scenario& s) {
    s.topology.roles = {{"target", {0}}, {"drafter", {0}}};
  });
  EXPECT_TRUE(exitedWith(folder.run(), 4)) << folder.log();
  EXPECT_NE(folder.log().find("needs a GPU: green contexts"), std::string::npos) << folder.log();
}

TEST(RunnerTest, AFolderIsRunOnce) {
  const RunFolder folder(shipped("single-drafter"), [](Scenario& s) { s.training.steps = 1; });
  ASSERT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  const std::string events = readFile(folder / "events.jsonl");
  EXPECT_TRUE(exitedWith(folder.run(), 2)) << folder.log();
  EXPECT_EQ(readFile(folder / "events.jsonl"), events);
}

TEST(RunnerTest, BadInputIsExit2WithARemedyAndNoRecord) {
  const RunFolder unknown(shipped("dual-drafter"), [](Scenario& s) {
    s.fault = FaultSpec{"shared-kernel-cash", Json::object()};
  });
  EXPECT_TRUE(exitedWith(unknown.run(), 2));
  EXPECT_NE(unknown.log().find("did you mean \"shared-kernel-cache\"?"), std::string::npos) << unknown.log();
  EXPECT_FALSE(fileExists(unknown / "events.jsonl"));

  const RunFolder starved(shipped("dual-drafter"), [](Scenario& s) { s.training.microBatches = 1; });
  EXPECT_TRUE(exitedWith(starved.run(), 2));
  EXPECT_NE(starved.log().find("/training/micro_batches"), std::string::npos) << starved.log();
}

TEST(RunnerTest, AFullDiskIsTheEnvironmentsAndLeavesNoEnd) {
  // Before the first step, and in two later ones: files, the test's runner.log too, may not grow beyond so many bytes.
  for (const rlim_t bytes : {rlim_t{2'000}, rlim_t{100'000}, rlim_t{300'000}}) {
    const RunFolder folder(shipped("dual-drafter"));
    const pid_t child = folder.start({}, [&] {
      ::signal(SIGXFSZ, SIG_IGN);  // the write is refused instead, as on a full disk
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    });
    EXPECT_TRUE(exitedWith(waitFor(child), 3)) << bytes << folder.log();
    EXPECT_NE(folder.log().find(folder / "events.jsonl"), std::string::npos) << folder.log();
    EXPECT_EQ(folder.events().first<harness::RunEnd>(), nullptr) << bytes;
  }
}

TEST(RunnerKernelCacheTest, EveryContextLoadsItsOwnHandleAndColdThreadsFindItWarm) {
  const RunFolder folder(shipped("kernel-cache/contexts"));
  ASSERT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  const EventLog log = folder.events();
  std::set<std::int64_t> contexts, threads;
  std::map<std::string, int> marks;
  int launches = 0;
  for (const Event& event : log.events) {
    if (const auto* mark = event.as<harness::CacheMark>()) ++marks[mark->event];
    const auto* call = event.as<harness::DriverCall>();
    if (call == nullptr || call->call != "launch") continue;
    EXPECT_EQ(call->status, 0);
    EXPECT_EQ(call->objectContext, call->context);
    contexts.insert(call->context);
    threads.insert(event.head.thread);
    ++launches;
  }
  EXPECT_EQ(contexts.size(), 4u);
  EXPECT_EQ(launches, 16);
  EXPECT_EQ(threads.size(), 12u);  // a drafter's own, and one for each odd step
  EXPECT_EQ(marks["compile_begin"], 1);
  EXPECT_EQ(marks["load"], 4);
  EXPECT_EQ(marks["hit"], 12);
  const golden::Record record = golden::loadRun(folder.path());
  EXPECT_EQ(record.steps.size(), 4u);
  EXPECT_EQ(record.numericsClass.fields.at("device"), "sim");
}

TEST(RunnerKernelCacheTest, AHandleOfAnotherContextIs400OnOneDevice) {
  for (const char* name :
       {"kernel-cache/contexts/singleton", "kernel-cache/contexts/half-fix", "kernel-cache/contexts/key-by-device"}) {
    const RunFolder folder(shipped(name));
    ASSERT_TRUE(exitedWith(folder.run(), 1)) << name << folder.log();
    EXPECT_EQ(firstException(folder).as<harness::ExceptionSeen>()->status, 400) << name;
  }
  EXPECT_TRUE(exitedWith(RunFolder(shipped("kernel-cache/contexts/library")).run(), 0));
}

TEST(RunnerKernelCacheTest, AMachineWithoutAGpuIsExit3WithARemedy) {
  if (devices::whyNoCuda().empty()) GTEST_SKIP() << "this machine has a GPU";
  const RunFolder folder(shipped("kernel-cache/contexts"), [](Scenario& s) { s.backend = "cuda"; });
  EXPECT_TRUE(exitedWith(folder.run(), 3)) << folder.log();
  EXPECT_NE(folder.log().find("remedy: "), std::string::npos) << folder.log();
  EXPECT_FALSE(fileExists(folder / "events.jsonl"));
}

TEST(RunnerCudaTest, TrainingWithoutAGpuIsExit3WithARemedyAndNoRecord) {
  if (devices::whyNoCuda().empty()) GTEST_SKIP() << "this machine has a GPU";
  for (const char* name : {"single-drafter", "dual-drafter/shared-kernel-cache"}) {
    const RunFolder folder(shipped(name), [](Scenario& s) { s.backend = "cuda"; });
    EXPECT_TRUE(exitedWith(folder.run(), 3)) << folder.log();
    EXPECT_NE(folder.log().find("remedy: "), std::string::npos) << folder.log();
    EXPECT_FALSE(fileExists(folder / "events.jsonl"));
  }
}

TEST(RunnerFaultTest, ASharedHandleIsRefusedInTheSecondDrafter) {
  for (const char* name : {"dual-drafter/shared-kernel-cache", "dual-drafter/half-fix"}) {
    const RunFolder folder(shipped(name));
    EXPECT_TRUE(exitedWith(folder.run(), 1)) << name << folder.log();
    const Event event = firstException(folder);
    EXPECT_EQ(event.head.role, "drafter[1]");
    EXPECT_EQ(event.head.step, 0);
    EXPECT_EQ(event.as<harness::ExceptionSeen>()->status, 400);
    EXPECT_FALSE(event.as<harness::ExceptionSeen>()->stack.empty());
  }
}

TEST(RunnerFaultTest, AMaskOnTheOtherDeviceIsSilentWithPeerAccessAndPoisonWithout) {
  const RunFolder with(shipped("dual-drafter/mask-on-other-device[topology.peer=on]"));
  EXPECT_TRUE(exitedWith(with.run(), 0)) << with.log();
  bool seen = false;
  for (const Event& event : with.events().events) {
    if (const auto* call = event.as<harness::DriverCall>()) {
      for (const harness::ForeignRange& range : call->foreign) seen = seen || range.name.rfind("block_mask", 0) == 0;
    }
  }
  EXPECT_TRUE(seen);

  const RunFolder without(shipped("dual-drafter/mask-on-other-device[topology.peer=off]"));
  EXPECT_TRUE(exitedWith(without.run(), 1)) << without.log();
  EXPECT_EQ(firstException(without).as<harness::ExceptionSeen>()->status, 700);
}

TEST(RunnerFaultTest, ARecomputationOnTheOtherDeviceFailsInThatPhase) {
  const RunFolder folder(shipped("dual-drafter/recompute-on-other-device"));
  EXPECT_TRUE(exitedWith(folder.run(), 1)) << folder.log();
  const Event event = firstException(folder);
  EXPECT_EQ(event.head.role, "drafter[1]");
  EXPECT_EQ(event.head.phase, "recompute");
}

TEST(RunnerFaultTest, TheInnocentDrafterFailsUnderAProcessWideTracingFlag) {
  const RunFolder folder(shipped("dual-drafter/tracing-flag"));
  EXPECT_TRUE(exitedWith(folder.run(), 1)) << folder.log();
  const Event event = firstException(folder);
  EXPECT_EQ(event.head.role, "drafter[0]");
  EXPECT_EQ(event.head.step, 3);
  EXPECT_NE(event.as<harness::ExceptionSeen>()->what.find("symbolically trace a dynamo-optimized function"),
            std::string::npos);
}

TEST(RunnerFaultTest, TheSameMeetingIsHarmlessWithAFlagPerThread) {
  const RunFolder folder(shipped("dual-drafter/tracing-flag"),
                         [](Scenario& s) { s.fault->parameters["flag"] = "thread"; });
  EXPECT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  const RunFolder plain(shipped("dual-drafter"));
  EXPECT_TRUE(exitedWith(plain.run(), 0)) << plain.log();
  EXPECT_EQ(bitsOf(folder), bitsOf(plain));
}

TEST(RunnerFaultTest, ADriftingReplicaIsRecordedAndTheRunGoesOn) {
  const RunFolder folder(shipped("dual-drafter"), [](Scenario& s) {
    s.fault = FaultSpec{"drift", {{"role", "drafter[1]"}}};
  });
  EXPECT_TRUE(exitedWith(folder.run(), 0)) << folder.log();
  std::int64_t first = -1;
  for (const Event& event : folder.events().events) {
    const auto* check = event.as<harness::ReplicaCheck>();
    if (check != nullptr && !check->equal && first < 0) first = event.head.step;
  }
  EXPECT_EQ(first, 2);
}

TEST(RunnerFaultTest, ACrashLeavesASymbolisedStackAndNoEnd) {
  const RunFolder folder(shipped("dual-drafter"), [](Scenario& s) { s.fault = FaultSpec{"crash", Json::object()}; });
  const int status = folder.run();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
  EXPECT_NE(folder.log().find("SIGSEGV"), std::string::npos);
  EXPECT_NE(folder.log().find("DrafterWorker"), std::string::npos) << folder.log();
  EXPECT_EQ(folder.events().first<harness::RunEnd>(), nullptr);
}

TEST(RunnerFaultTest, AWorkerThatOverflowsItsStackLeavesASymbolisedStackToo) {
  const RunFolder folder(shipped("dual-drafter"), [](Scenario& s) {
    s.fault = FaultSpec{"crash", {{"how", "stack-overflow"}, {"role", "drafter[1]"}}};
  });
  const int status = folder.run();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
  EXPECT_NE(folder.log().find("ended by SIGSEGV in thread drafter[1] ("), std::string::npos) << folder.log();
  const std::string stack = join(harness::symboliseFrames(split(folder.log(), '\n')), "\n");
  EXPECT_NE(stack.find("Crash::overflow"), std::string::npos) << stack;
  EXPECT_EQ(folder.events().first<harness::RunEnd>(), nullptr);
}

/// Blocks until something changes in a folder.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder) : fd_(::inotify_init1(IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(fd_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE), 0);
  }
  ~FolderWatch() { ::close(fd_); }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  void wait() {
    char changes[4096];
    EXPECT_GT(::read(fd_, changes, sizeof changes), 0);
  }

 private:
  int fd_;
};

/// Kills the run at its first event that is a `point` mark of `step`, or later.
void killAt(const RunFolder& folder, const std::string& point, std::int64_t step) {
  FolderWatch watch(folder.path());
  const pid_t child = folder.start();
  harness::EventReader reader(folder / "events.jsonl");
  for (bool reached = false; !reached;) {
    const bool more = reader.poll();
    for (const Event& event : reader.log().events) {
      const auto* mark = event.as<harness::SyncMark>();
      reached = reached || (mark != nullptr && mark->point == point && event.head.step >= step);
      ASSERT_EQ(event.as<harness::RunEnd>(), nullptr) << "it ended by itself: " << folder.log();
    }
    if (!reached && !more) watch.wait();
  }
  ::kill(child, SIGKILL);
  waitFor(child);
}

TEST(RunnerResumeTest, ARunThatWasKilledAndResumedEqualsOneThatWasNot) {
  const auto everyTwo = [](Scenario& s) {
    s.training.checkpointEvery = 2;
    s.training.steps = 8;
  };
  const RunFolder whole(shipped("dual-drafter"), everyTwo);
  ASSERT_TRUE(exitedWith(whole.run(), 0)) << whole.log();
  // At the begin of a step, in the middle of one, and around a checkpoint.
  for (const auto& [point, step] :
       {std::pair("step_begin", 5), std::pair("kernel_launch", 3), std::pair("step_end", 5)}) {
    const RunFolder folder(shipped("dual-drafter"), everyTwo);
    killAt(folder, point, step);
    ASSERT_TRUE(exitedWith(folder.run({"--resume"}), 0)) << folder.log();
    EXPECT_EQ(bitsOf(folder), bitsOf(whole)) << point << ' ' << step;
    EXPECT_EQ(readFile(folder / "digests.bin"), readFile(whole / "digests.bin"));
    EXPECT_TRUE(fileExists(folder / "events.1.jsonl"));
  }
}

}  // namespace
}  // namespace redraft::scenarios
