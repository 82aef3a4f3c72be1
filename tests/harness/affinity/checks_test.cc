// Every check finds its fault, with the record that proves it; passes the twin without the fault; and says so when a
// trace cannot tell.
#include <gtest/gtest.h>

#include "tests/harness/affinity/trace_builder.h"

namespace redraft::harness {
namespace {

using testing_support::checkOf;
using testing_support::TraceBuilder;
using testing_support::twoRoles;

TraceBuilder goodTrace() {
  TraceBuilder built;
  built.context(0, 10);
  built.context(1, 11);
  built.kernel("target", 0);
  built.peerCopy("drafter", 0, 1);
  built.kernel("drafter", 1);
  built.call("cudaSetDevice", "drafter", 11);
  return built;
}

void expectState(const TraceCheck& check, AuditState state, const std::string& part = "") {
  EXPECT_EQ(enumName(check.state), std::string(enumName(state))) << check.id << ": " << check.reason;
  if (state != AuditState::kFound) {
    EXPECT_NE(check.reason.find(part), std::string::npos) << check.id << ": " << check.reason;
    EXPECT_EQ(check.count, 0) << check.id;
    return;
  }
  ASSERT_FALSE(check.violations.empty()) << check.id;
  EXPECT_NE(check.violations.front().message.find(part), std::string::npos) << check.violations.front().message;
}

void expectFound(const TraceBuilder& built, const std::string& id, const std::string& part) {
  expectState(checkOf(built, id), AuditState::kFound, part);
}

TEST(TraceAuditTest, PassesAGoodTrace) {
  const Contract contract = twoRoles();
  const TraceAudit audit = auditTrace(goodTrace().trace, &contract);
  EXPECT_FALSE(audit.foundAny());
  for (const TraceCheck& check : audit.gate) expectState(check, AuditState::kClean);
  for (const char* id : {"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "A13", "A14"})
    expectState(checkOf(audit, id), AuditState::kClean);
  for (const char* id : {"A11", "A12"}) expectState(checkOf(audit, id), AuditState::kNotComputable, "trace");
}

TEST(TraceAuditTest, PointsToTheRecordThatProvesAFinding) {
  TraceBuilder built = goodTrace();
  const TraceRecord wrong = built.kernel("drafter", 0);
  const TraceCheck check = checkOf(built, "A1");
  ASSERT_EQ(check.violations.size(), 1u);
  const Violation& found = check.violations.front();
  EXPECT_EQ(std::make_tuple(found.file, found.event, found.place, found.name, found.startNs),
            std::make_tuple("built.json", wrong.index, wrong.place, "matmul", wrong.startNs));
  EXPECT_EQ(std::make_tuple(found.device, found.context, found.stream, found.role),
            std::make_tuple(0, 1, 7, "drafter"));
}

TEST(TraceAuditTest, CountsAllFindingsAndShowsTheFirst) {
  TraceBuilder built = goodTrace();
  for (int i = 0; i < 12; ++i) built.kernel("drafter", 0);
  const TraceCheck check = checkOf(built, "A1");
  EXPECT_EQ(check.count, 12);
  EXPECT_EQ(check.violations.size(), 5u);
}

TEST(TraceAuditTest, A1FindsWorkOnAnotherRolesDevice) {
  TraceBuilder built = goodTrace();
  built.kernel("drafter", 0);
  expectFound(built, "A1", "drafter worked on device 0; its own are [1]");
}

TEST(TraceAuditTest, A1AllowsTheHalvesOfADeclaredStagedCopyOnTheOtherDevice) {
  Contract staged = twoRoles();
  staged.roles["drafter"].copies = {{0, 1, false, std::nullopt}};
  TraceBuilder built = goodTrace();
  built.work(RecordKind::kCopy, "Memcpy DtoH (Device -> Pinned)", "drafter", 0);
  expectState(checkOf(built, "A1", staged), AuditState::kClean);
  expectFound(built, "A1", "drafter worked on device 0");                         // of a direct edge
  built.work(RecordKind::kCopy, "Memcpy HtoD (Pinned -> Device)", "drafter", 0);  // against the edge
  expectState(checkOf(built, "A1", staged), AuditState::kFound);
  TraceBuilder computing = goodTrace();
  computing.kernel("drafter", 0);
  expectState(checkOf(computing, "A1", staged), AuditState::kFound);
}

TEST(TraceAuditTest, A2FindsWorkOnAnotherStream) {
  TraceBuilder built = goodTrace();
  built.kernel("drafter", 1, 9);
  expectFound(built, "A2", "stream 9 of context 2");
}

TEST(TraceAuditTest, A2KeepsStreamsOfTheSameNumberApart) {
  TraceBuilder built = goodTrace();
  built.kernel("target", 0).context = 2;  // stream 7, of the drafter's context
  expectFound(built, "A2", "stream 7 of context 2");
}

TEST(TraceAuditTest, A3FindsWorkOnTheNullStream) {
  TraceBuilder built = goodTrace();
  built.kernel("drafter", 1, 3);
  expectFound(built, "A3", "null stream of context 2");
  Contract contract = twoRoles();
  contract.roles["drafter"].defaultStream = true;
  expectState(checkOf(built, "A3", contract), AuditState::kClean);
}

TEST(TraceAuditTest, A4FindsAnUndeclaredEdgeAndACopyByAThird) {
  TraceBuilder built = goodTrace();
  built.peerCopy("drafter", 1, 0);
  expectFound(built, "A4", "from device 1 to device 0, no edge");
  TraceBuilder third = goodTrace();
  third.peerCopy("drafter", 0, 1).device = 2;
  expectFound(third, "A4", "by device 2, which is neither");
}

TraceBuilder withStagedCopy(bool oneCall) {
  TraceBuilder built = goodTrace();
  TraceRecord& up = built.work(RecordKind::kCopy, "Memcpy DtoH (Device -> Pinned)", "drafter", 0);
  up.bytes = 4096;
  const std::int64_t call = up.correlation;
  TraceRecord& down =
      built.work(RecordKind::kCopy, "Memcpy HtoD (Pinned -> Device)", oneCall ? "drafter" : "target", 1);
  down.bytes = 4096;
  if (oneCall) down.correlation = call;
  return built;
}

TEST(TraceAuditTest, A5FindsADeclaredDirectCopyThatGoesThroughTheHost) {
  expectFound(withStagedCopy(true), "A5", "4096 bytes went from device 0 to device 1 through the host");
  expectState(checkOf(withStagedCopy(false), "A5"), AuditState::kClean);
}

TEST(TraceAuditTest, A5FindsACopyAtLessThanHalfItsSpeed) {
  TraceBuilder built = goodTrace();
  TraceRecord& copy = built.peerCopy("drafter", 0, 1, 64 << 20);
  copy.durationNs = 2'000'000;  // 33 GB/s of 100
  expectFound(built, "A5", "33 GB/s");
  built.trace.records.back().durationNs = 1'000'000;
  expectState(checkOf(built, "A5"), AuditState::kClean);
}

TEST(TraceAuditTest, A6FindsAContextOfAnotherRoleAndBlamesTheCall) {
  TraceBuilder built = goodTrace();
  built.call("cudaSetDevice", "drafter", 11);
  TraceRecord& stray = built.context(0, 11);
  stray.role = built.trace.strings.intern("drafter");
  expectFound(built, "A6", "drafter made a context on device 0; its own are [1]; after cudaSetDevice");
  TraceBuilder nobody = goodTrace();
  nobody.context(5, -1);
  expectFound(nobody, "A6", "device 5, which no role may use");
}

TEST(TraceAuditTest, A7FindsMemoryOnAnotherRolesDevice) {
  TraceBuilder built = goodTrace();
  TraceRecord& taken = built.add(RecordKind::kAllocation, "segment");
  taken.role = built.trace.strings.intern("drafter");
  taken.device = 0;
  taken.bytes = 1024;
  expectFound(built, "A7", "drafter took 1024 bytes on device 0");
  built.trace.records.back().bytes = -1024;  // given back
  expectState(checkOf(built, "A7"), AuditState::kClean);
}

TEST(TraceAuditTest, A9FindsWaitsBeyondTheAllowance) {
  TraceBuilder built = goodTrace();
  built.call("cudaStreamSynchronize", "drafter", 11).step = 3;
  built.call("cudaMemcpy", "drafter", 11).step = 3;
  built.call("cudaMemcpyAsync", "drafter", 11).step = 3;
  EXPECT_EQ(checkOf(built, "A9").count, 2);
  expectFound(built, "A9", "wait 1 of step 3, of 0 allowed");
  Contract contract = twoRoles();
  contract.roles["drafter"].hostSyncs = 2;
  expectState(checkOf(built, "A9", contract), AuditState::kClean);
}

TEST(TraceAuditTest, A9LooksWithinStepsAlone) {
  TraceBuilder built = goodTrace();
  TraceRecord& step = built.add(RecordKind::kAnnotation, "ProfilerStep#4");
  step.durationNs = 10'000;
  built.call("cudaDeviceSynchronize", "drafter", 11);
  built.now += 20'000;
  built.call("cudaDeviceSynchronize", "drafter", 11);
  EXPECT_EQ(checkOf(built, "A9").count, 1);
  expectFound(built, "A9", "step 4");
}

TEST(TraceAuditTest, A2FindsWorkOnAStreamThatAnotherRoleDeclaredItsOwn) {
  const auto declareOwn = [](TraceBuilder& built, const std::string& role, int device) {
    TraceRecord& own = built.add(RecordKind::kStream, "stream of a role");
    own.role = built.trace.strings.intern(role);
    own.context = device + 1;
    own.stream = 7;
    own.flags = kOwned;
  };
  Contract contract = twoRoles();
  for (auto& [name, role] : contract.roles) role.streams.clear();
  TraceBuilder built = goodTrace();
  built.context(1, 11).name = built.trace.strings.intern("green context of 16 multiprocessors");
  expectState(checkOf(built, "A2", contract), AuditState::kNotComputable, "declares none to be a role's own");
  declareOwn(built, "target", 0);
  declareOwn(built, "drafter", 1);
  expectState(checkOf(built, "A2", contract), AuditState::kClean);
  built.kernel("target", 1);
  built.kernel("target", 1, 9);  // of nobody
  expectState(checkOf(built, "A2", contract), AuditState::kFound,
              "target worked on stream 7 of context 2 (green context of 16 multiprocessors), which is drafter's own");
  EXPECT_EQ(checkOf(built, "A2", contract).count, 1);
  expectState(checkOf(auditTrace(built.trace, nullptr), "A2"), AuditState::kFound);
}

TEST(TraceAuditTest, A10HasNothingToCheckWhereThereIsNoCommunicator) {
  expectState(checkOf(goodTrace(), "A10"), AuditState::kClean);
}

/// A gather of "drafters" by rank 1, whose GPU is device 1, on `device`.
TraceBuilder gatherOn(int device) {
  TraceBuilder built = goodTrace();
  built.trace.files.front().capture.communicators = {{"drafters", 1, 1, {"GPU-a", "GPU-b"}}};
  built.work(RecordKind::kKernel, "ncclDevKernel_AllGather_RING_LL", "drafter", device).detail =
      built.trace.strings.intern("drafters");
  return built;
}

TEST(TraceAuditTest, A10HoldsADeclaredCommunicatorToItsDevice) {
  expectState(checkOf(gatherOn(1), "A10"), AuditState::kClean);
  expectState(checkOf(gatherOn(0), "A10"), AuditState::kFound, "on device 0, and communicator drafters is on device 1");
}

TEST(TraceAuditTest, A10FindsRanksThatShareAGpu) {
  TraceBuilder built = gatherOn(1);
  built.trace.files.front().capture.communicators[0].gpus = {"GPU-b", "GPU-a", "GPU-b"};
  expectState(checkOf(built, "A10"), AuditState::kFound, "ranks 0 and 2 of communicator drafters both have GPU-b");
}

TEST(TraceAuditTest, A10SaysHowManyKernelsNameNoCommunicator) {
  TraceBuilder built = gatherOn(1);
  built.work(RecordKind::kKernel, "ncclDevKernel_AllGather_RING_LL", "drafter", 1);
  expectState(checkOf(built, "A10"), AuditState::kNotComputable, "1 of 2 NCCL kernels do not say");
}

TEST(TraceAuditTest, A10FindsACommunicatorOnTwoDevices) {
  for (const int second : {1, 0}) {
    TraceBuilder built = goodTrace();
    for (const int device : {0, second}) {
      TraceRecord& kernel = built.work(RecordKind::kKernel, "ncclDevKernel_AllReduce", "target", device);
      kernel.detail = built.trace.strings.intern("group 1");
    }
    const TraceCheck check = checkOf(built, "A10");
    if (second == 1) {
      expectState(check, AuditState::kFound, "communicator group 1 is on device 0");
    } else {
      expectState(check, AuditState::kNotComputable, "two ranks");
    }
  }
}

TEST(TraceAuditTest, A11FindsCodeThatRunsWhereItWasNotLoaded) {
  TraceBuilder built = goodTrace();
  built.add(RecordKind::kFunction, "matmul").context = 1;
  expectFound(built, "A11", "ran in context 2, and was loaded in context 1");
  built.add(RecordKind::kFunction, "matmul").context = 2;
  expectState(checkOf(built, "A11"), AuditState::kClean);
}

TEST(TraceAuditTest, A11LetsAGreenContextRunWhatItsDevicesOwnContextHolds) {
  const auto greenOn = [](int device) {
    TraceBuilder built = goodTrace();
    built.add(RecordKind::kFunction, "matmul").context = 2;  // device 1's own
    built.trace.records.back().name = built.trace.strings.intern("attention");
    TraceRecord& green = built.context(device, 11);
    green.context = 9;
    green.name = built.trace.strings.intern("green context of 16 multiprocessors");
    TraceRecord& kernel = built.kernel("drafter", 1);
    kernel.context = 9;
    kernel.name = built.trace.strings.intern("attention");
    return built;
  };
  expectState(checkOf(greenOn(1), "A11"), AuditState::kClean);
  expectFound(greenOn(0), "A11", "ran in context 9, and was loaded in context 2");
}

TEST(TraceAuditTest, A11FindsCodeLoadedAfterWarmUp) {
  TraceBuilder built = goodTrace();
  built.call("cudaLaunchKernel", "drafter", 11).step = 0;
  built.add(RecordKind::kOverhead, "Lazy Function Loading").step = 0;
  expectState(checkOf(built, "A11"), AuditState::kNotComputable, "loaded");
  built.add(RecordKind::kOverhead, "Lazy Function Loading").step = 1;
  expectFound(built, "A11", "loaded in step 1");
}

TEST(TraceAuditTest, A11LetsARoleWarmUpInTheStepInWhichItBegins) {
  const auto loaded = [](std::int64_t before) {
    TraceBuilder built = goodTrace();
    for (const int context : {1, 2}) built.add(RecordKind::kFunction, "matmul").context = context;
    for (const std::int64_t step : {before, std::int64_t{3}}) {
      TraceRecord& overhead = built.add(RecordKind::kOverhead, step == 3 ? "Lazy Function Loading" : "Buffer");
      overhead.role = built.trace.strings.intern("late");
      overhead.step = static_cast<std::int32_t>(step);
    }
    return built;
  };
  expectState(checkOf(loaded(3), "A11"), AuditState::kClean);
  expectFound(loaded(2), "A11", "loaded in step 3");
}

TEST(TraceAuditTest, A12FindsAGraphOnUndeclaredDevices) {
  TraceBuilder built = goodTrace();
  built.kernel("target", 0).graph = 5;
  built.kernel("drafter", 1).graph = 5;
  expectState(checkOf(built, "A12"), AuditState::kNotComputable, "declares no devices of graphs");
  Contract contract = twoRoles();
  contract.graphs = {{0}, {1}};
  expectState(checkOf(built, "A12", contract), AuditState::kFound, "graph 5 on device 1; all its nodes are on [0, 1]");
  contract.graphs = {{0, 1}};
  expectState(checkOf(built, "A12", contract), AuditState::kClean);
}

TEST(TraceAuditTest, ShowsTheEarliestStepsThenRolesInOrderWhoeverWasFaster) {
  TraceBuilder built = goodTrace();
  for (int step = 6; step-- > 0;) built.kernel("target", 1).step = step;
  built.kernel("drafter", 0).step = 1;
  const TraceCheck check = checkOf(built, "A1");
  EXPECT_EQ(check.count, 7);
  std::vector<std::pair<std::int64_t, std::string>> shown;
  for (const Violation& violation : check.violations) shown.emplace_back(violation.step, violation.role);
  EXPECT_EQ(shown, (std::vector<std::pair<std::int64_t, std::string>>{
                       {0, "target"}, {1, "drafter"}, {1, "target"}, {2, "target"}, {3, "target"}}));
}

TEST(TraceAuditTest, A13FindsTooManyChangesOfTheDevice) {
  TraceBuilder built = goodTrace();
  for (int i = 0; i < 2; ++i) built.call("cudaSetDevice", "drafter", 11).step = 2;
  expectFound(built, "A13", "call 2 of step 2 by drafter, of 1 allowed");
}

TEST(TraceAuditTest, A14FindsLaunchesOfNobodyAndOfStrangers) {
  TraceBuilder built = goodTrace();
  built.kernel("", 1);
  expectFound(built, "A14", "thread 11 launched, and belongs to no role");
  TraceBuilder stranger = goodTrace();
  stranger.kernel("watchdog", 1);
  expectFound(stranger, "A14", "\"watchdog\" launched, and is no role");
}

TEST(TraceAuditTest, SaysWhatAForeignTraceCannotTell) {
  TraceBuilder built;
  built.foreign();
  built.kernel("target", 0);
  built.kernel("drafter", 1);
  const Contract contract = twoRoles();
  const TraceAudit audit = auditTrace(built.trace, &contract);
  EXPECT_FALSE(audit.foundAny());
  for (const char* id : {"A1", "A2", "A9", "A10", "A14"}) expectState(checkOf(audit, id), AuditState::kClean);
  for (const char* id : {"G1", "G7", "A3", "A4", "A5", "A6", "A7", "A8", "A11", "A12", "A13"}) {
    const TraceCheck check = checkOf(audit, id);
    expectState(check, AuditState::kNotComputable);
    EXPECT_FALSE(check.reason.empty()) << id;
  }
}

TEST(TraceAuditTest, NeedsAContractForWhatOnlyAContractSays) {
  const TraceAudit audit = auditTrace(goodTrace().trace, nullptr);
  for (const char* id : {"A1", "A2", "A4", "A5", "A6", "A7", "A13"})
    expectState(checkOf(audit, id), AuditState::kNotComputable, "--contract");
  expectState(checkOf(audit, "A3"), AuditState::kClean);
}

}  // namespace
}  // namespace redraft::harness
