#include "harness/probe/cupti_capture.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "harness/affinity/trace_audit.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/harness/probe/activities.h"
#include "tests/harness/probe/capture_fixture.h"

namespace redraft::harness {
namespace {

using namespace testing_support;

TEST_F(CuptiCaptureTest, GivesWorkTheRoleStepAndPhaseOfTheThreadThatCalled) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  std::thread([this] {
    originHere = {3, devices::Phase::kBackward, 12};
    cupti.launch("_Z6matmulIfEvPT_");
  }).join();
  originHere = {};
  cupti.launch("untold");
  const Trace trace = capture.stop(StopMode::kWaitForDevices);
  const std::vector<TraceRecord> kernels = of(trace, RecordKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(trace.text(kernels[0].name), "void matmul<float>(float*)");
  EXPECT_EQ(trace.text(kernels[0].role), "role[3]");
  EXPECT_EQ(trace.text(kernels[0].phase), "backward");
  EXPECT_EQ(kernels[0].step, 12);
  EXPECT_EQ(kernels[1].role, 0u);
  EXPECT_EQ(kernels[1].step, -1);
  EXPECT_EQ(trace.files.front().capture.source, "cupti");
  EXPECT_EQ(trace.files.front().capture.process, ::getpid());
  EXPECT_EQ(trace.files.front().capture.dropped, 0);
  EXPECT_EQ(capture.cost().lostOrigins, 0);
}

TEST_F(CuptiCaptureTest, PassesTheCoverageGateOfTheAudit) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  originHere = {1, devices::Phase::kLoss, 0};
  for (int i = 0; i < 100; ++i) cupti.launch("kernel");
  for (int i = 0; i < 10; ++i) cupti.launchNested("nested");
  const TraceAudit audit = auditTrace(capture.stop(StopMode::kWaitForDevices), nullptr);
  for (const char* id : {"G1", "G2", "G3", "G4", "G5", "G6"})
    EXPECT_EQ(checkOf(audit, id).state, AuditState::kClean) << id;
  originHere = {};
}

TEST_F(CuptiCaptureTest, TakesNoPlainNameForATypeOfCxx) {
  CuptiCapture& capture = start();
  cupti.launch("f");
  const Trace trace = capture.stop(StopMode::kAtOnce);
  EXPECT_EQ(trace.text(of(trace, RecordKind::kKernel).at(0).name), "f");
}

TEST_F(CuptiCaptureTest, LeavesTheDriverCallsOfTheRuntimeOut) {
  CuptiCapture& capture = start();
  originHere = {2, devices::Phase::kNone, 5};
  const std::uint32_t correlation = cupti.launchNested("nested");
  originHere = {};
  const Trace trace = capture.stop(StopMode::kAtOnce);
  ASSERT_EQ(of(trace, RecordKind::kApi).size(), 1u);
  EXPECT_EQ(trace.text(of(trace, RecordKind::kApi).front().name), "cudaLaunchKernel");
  ASSERT_EQ(of(trace, RecordKind::kKernel).size(), 1u);
  EXPECT_EQ(of(trace, RecordKind::kKernel).front().correlation, correlation);
  EXPECT_EQ(trace.text(of(trace, RecordKind::kKernel).front().role), "role[2]");
  EXPECT_EQ(capture.cost().nestedCalls, 1);
}

TEST_F(CuptiCaptureTest, RecordsWhoMadeAContextAndAStreamAndFromWhere) {
  CuptiCapture& capture = start();
  originHere = {7, devices::Phase::kNone, -1};
  cupti.makeContext(4, 1);
  cupti.makeStream(4, 19);
  originHere = {};
  const Trace trace = capture.stop(StopMode::kAtOnce);
  ASSERT_EQ(of(trace, RecordKind::kContext).size(), 1u);
  const TraceRecord context = of(trace, RecordKind::kContext).front();
  EXPECT_EQ(context.thread, ::gettid());
  EXPECT_EQ(context.device, 1);
  EXPECT_EQ(context.stream, 7);  // its null stream
  EXPECT_GT(context.startNs, 0);
  EXPECT_EQ(trace.text(context.role), "role[7]");
  EXPECT_FALSE(trace.text(context.detail).empty());
  ASSERT_EQ(of(trace, RecordKind::kStream).size(), 1u);
  const TraceRecord stream = of(trace, RecordKind::kStream).front();
  EXPECT_EQ(stream.device, 1);
  EXPECT_EQ(stream.thread, ::gettid());
  EXPECT_TRUE(stream.has(kNonBlocking));
  EXPECT_FALSE(trace.text(stream.detail).empty());
}

TEST_F(CuptiCaptureTest, KnowsTheContextOfAFunctionByItsModule) {
  CuptiCapture& capture = start();
  auto* const module = reinterpret_cast<CUmodule>(0x50);
  cupti.makeContext(1, 0);
  cupti.makeContext(2, 0);
  cupti.loadModule(module, 2);
  cupti.getFunction(module, "attention");                           // with context 1 current
  cupti.getFunction(reinterpret_cast<CUmodule>(0x60), "not_ours");  // loaded before: its context is not known
  cupti.launch("attention", 1);
  const Trace trace = capture.stop(StopMode::kAtOnce);
  ASSERT_EQ(of(trace, RecordKind::kFunction).size(), 1u);
  EXPECT_EQ(trace.text(of(trace, RecordKind::kFunction).front().name), "attention");
  EXPECT_EQ(of(trace, RecordKind::kFunction).front().context, 2);
  ASSERT_EQ(of(trace, RecordKind::kModule).size(), 1u);
  EXPECT_EQ(of(trace, RecordKind::kModule).front().context, 2);
  EXPECT_EQ(checkOf(auditTrace(trace, nullptr), "A11").state, AuditState::kFound);
}

TEST_F(CuptiCaptureTest, CountsWhatCuptiDropped) {
  CuptiCapture& capture = start();
  cupti.launch("kernel");
  { cupti.dropped = 3; }
  const Trace trace = capture.stop(StopMode::kAtOnce);
  EXPECT_EQ(trace.files.front().capture.dropped, 3);
  EXPECT_EQ(checkOf(auditTrace(trace, nullptr), "G1").state, AuditState::kFound);
}

TEST_F(CuptiCaptureTest, AllocatesWhereThePoolIsEmptyAndSaysSo) {
  CaptureOptions options = small();
  options.buffers = 0;
  CuptiCapture& capture = start(options);
  for (int i = 0; i < 200; ++i) cupti.launch("kernel");
  const Trace trace = capture.stop(StopMode::kAtOnce);
  EXPECT_EQ(of(trace, RecordKind::kKernel).size(), 200u);
  EXPECT_EQ(trace.files.front().capture.dropped, 0);
  EXPECT_GT(capture.cost().extraBuffers, 0);
}

TEST_F(CuptiCaptureTest, ABufferThatCannotBeHadIsALostRecord) {
  CaptureOptions options = small();
  options.bufferBytes = std::size_t{1} << 60;  // more than there is
  options.buffers = 1;
  CuptiCapture& capture = start(options);
  cupti.launch("kernel");
  EXPECT_GE(capture.stop(StopMode::kAtOnce).files.front().capture.dropped, 2);  // the kernel's and its call's
}

TEST_F(CuptiCaptureTest, BytesThatCannotBeReadAreALostRecord) {
  CuptiCapture& capture = start();
  CUpti_ActivityKernel10 kernel = kernelActivity(1);
  kernel.kind = static_cast<CUpti_ActivityKind>(300);
  cupti.emit(&kernel, sizeof kernel);
  EXPECT_EQ(capture.stop(StopMode::kAtOnce).files.front().capture.dropped, 1);
}

TEST_F(CuptiCaptureTest, KeepsTheRolesOfTwoThreadsThatLaunchAtOnce) {
  CaptureOptions options = small();
  options.originSlots = 1 << 14;
  CuptiCapture& capture = start(options);
  constexpr int kLaunches = 1500;
  std::vector<std::thread> threads;
  for (const devices::RoleId role : {1, 2}) {
    threads.emplace_back([this, role, &capture] {
      const char* kernel = role == 1 ? "first" : "second";
      for (int i = 0; i < kLaunches; ++i) {
        originHere = {role, devices::Phase::kLoss, i / 100};
        cupti.launch(kernel);
        if (i % 100 == 99) capture.flush(i / 100);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = capture.stop(StopMode::kWaitForDevices);
  std::map<std::string, int> counts;
  for (const TraceRecord& kernel : of(trace, RecordKind::kKernel))
    ++counts[trace.text(kernel.name) + trace.text(kernel.role)];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"firstrole[1]", kLaunches}, {"secondrole[2]", kLaunches}}));
  EXPECT_EQ(trace.files.front().threadNames.size(), 2u);
  EXPECT_EQ(trace.files.front().capture.dropped, 0);
  EXPECT_EQ(cupti.buffersOut(), 0u);
}

TEST_F(CuptiCaptureTest, StopsWhileThreadsGoOnLaunching) {
  CuptiCapture& capture = start();
  std::atomic<bool> go{true};
  std::atomic<int> launches{0};
  std::thread launcher([&] {
    while (go) {
      cupti.launch("kernel");
      ++launches;
    }
  });
  while (launches < 50) std::this_thread::yield();
  const Trace trace = capture.stop(StopMode::kAtOnce);
  const int after = launches;
  while (launches < after + 50) std::this_thread::yield();  // callbacks that are late find the capture
  go = false;
  launcher.join();
  EXPECT_GE(of(trace, RecordKind::kKernel).size(), 50u);
  EXPECT_FALSE(cupti.subscribed());
  EXPECT_TRUE(capture.stop(StopMode::kAtOnce).records.empty());
}

TEST_F(CuptiCaptureTest, NoticesARoleThatWasOverwritten) {
  CaptureOptions options = small();
  options.originSlots = 16;
  options.bufferBytes = 1 << 20;  // nothing is parsed before the end
  CuptiCapture& capture = start(options);
  originHere = {1, devices::Phase::kNone, 0};
  for (int i = 0; i < 40; ++i) cupti.launch("kernel");
  originHere = {};
  const Trace trace = capture.stop(StopMode::kAtOnce);
  EXPECT_EQ(capture.cost().lostOrigins, 24);
  EXPECT_EQ(trace.files.front().capture.dropped, 24);
  const auto kernels = of(trace, RecordKind::kKernel);
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(), [](const TraceRecord& kernel) { return kernel.role == 0; }),
            24);
}

TEST_F(CuptiCaptureTest, RecordsNothingWhilePaused) {
  CuptiCapture& capture = start();
  std::string error;
  cupti.launch("before");
  ASSERT_TRUE(capture.pause(error)) << error;
  cupti.launch("meanwhile");
  ASSERT_TRUE(capture.resume(error)) << error;
  cupti.launch("after");
  const Trace trace = capture.stop(StopMode::kAtOnce);
  std::set<std::string> names;
  for (const TraceRecord& kernel : of(trace, RecordKind::kKernel)) names.insert(trace.text(kernel.name));
  EXPECT_EQ(names, (std::set<std::string>{"before", "after"}));
}

TEST_F(CuptiCaptureTest, LeavesOutThePartsThatItIsToldToAndTakesThemUpAgain) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  originHere = {4, devices::Phase::kNone, 0};
  std::string error;
  const auto leaveOut = [&](const std::set<CapturePart>& parts) {
    ASSERT_TRUE(capture.pause(error)) << error;
    capture.leaveOut(parts);
    ASSERT_TRUE(capture.resume(error)) << error;
  };
  leaveOut({CapturePart::kEvents, CapturePart::kCalls});
  cupti.launch("without_call");
  cupti.recordEvent(1, 13, 5);
  leaveOut({CapturePart::kKernels, CapturePart::kCallbacks});
  cupti.launch("left_out");
  leaveOut({});
  cupti.launch("whole");
  originHere = {};
  const Trace trace = capture.stop(StopMode::kAtOnce);
  std::map<std::string, std::string> roles;
  for (const TraceRecord& kernel : of(trace, RecordKind::kKernel))
    roles[trace.text(kernel.name)] = trace.text(kernel.role);
  EXPECT_EQ(roles, (std::map<std::string, std::string>{{"without_call", "role[4]"}, {"whole", "role[4]"}}));
  EXPECT_EQ(of(trace, RecordKind::kApi).size(), 2u);  // of the second launch, and of the third
  EXPECT_TRUE(of(trace, RecordKind::kEvent).empty());
}

TEST_F(CuptiCaptureTest, WaitsForEveryContextThatLives) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  cupti.makeContext(2, 0);
  static_cast<void>(capture.stop(StopMode::kWaitForDevices));
  EXPECT_EQ(cupti.synchronized(), 2);
  EXPECT_GE(cupti.forcedFlushes(), 1);
}

TEST_F(CuptiCaptureTest, DoesNotWaitForTheDevicesOfARunThatFailed) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  static_cast<void>(capture.stop(StopMode::kAtOnce));
  EXPECT_EQ(cupti.synchronized(), 0);
}

TEST_F(CuptiCaptureTest, ADeviceThatCannotBeWaitedForMakesTheTraceIncomplete) {
  cupti.synchronizeResult = CUDA_ERROR_ILLEGAL_ADDRESS;
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  EXPECT_EQ(capture.stop(StopMode::kWaitForDevices).files.front().capture.dropped, 1);
}

TEST_F(CuptiCaptureTest, FlushesOnItsOwnThreadAndNotTooOften) {
  CaptureOptions options = small();
  options.flushIntervalNs = std::int64_t{1} << 50;
  CuptiCapture& capture = start(options);
  cupti.launch("kernel");
  capture.flush(0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (capture.cost().records < 2 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(capture.cost().records, 2);
  EXPECT_EQ(cupti.buffersOut(), 0u);
  const std::int64_t flushes = capture.cost().flushes;
  for (int step = 1; step < 100; ++step) capture.flush(step);
  EXPECT_EQ(capture.cost().flushes, flushes);
  const Trace trace = capture.stop(StopMode::kAtOnce);
  const auto overhead = of(trace, RecordKind::kOverhead);
  const bool flushed = std::any_of(overhead.begin(), overhead.end(), [&](const TraceRecord& record) {
    return trace.text(record.name) == "Redraft Flush" && record.thread != ::gettid();
  });
  EXPECT_TRUE(flushed);
}

TEST_F(CuptiCaptureTest, FlushesMoreOftenWhereBuffersAreShort) {
  CaptureOptions options = small();
  options.buffers = 1;
  options.flushIntervalNs = 0;
  options.spareFlushIntervalNs = std::int64_t{1} << 50;
  CuptiCapture& capture = start(options);
  const auto flushedWithin = [&](std::chrono::milliseconds time) {
    const std::int64_t before = capture.cost().flushes;
    const auto until = std::chrono::steady_clock::now() + time;
    capture.flush(0);
    while (capture.cost().flushes == before && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return capture.cost().flushes > before;
  };
  EXPECT_TRUE(flushedWithin(std::chrono::seconds(20)));  // the first
  EXPECT_FALSE(flushedWithin(std::chrono::milliseconds(50)));
  cupti.launch("kernel");  // takes the only one
  EXPECT_TRUE(flushedWithin(std::chrono::seconds(20)));
  capture.stop(StopMode::kAtOnce);
}

TEST_F(CuptiCaptureTest, FlushesBeforeRolesAreOverwritten) {
  CaptureOptions options = small();
  options.bufferBytes = 1 << 20;  // full long after the roles of its calls are gone
  options.originSlots = 1 << 12;
  CuptiCapture& capture = start(options);
  originHere = {1, devices::Phase::kNone, 0};
  for (std::int64_t round = 1; round <= 8; ++round) {
    for (int i = 0; i < 1100; ++i) cupti.launch("kernel");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (capture.cost().flushes < round && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }
  originHere = {};
  const Trace trace = capture.stop(StopMode::kAtOnce);
  EXPECT_EQ(capture.cost().lostOrigins, 0);
  EXPECT_EQ(trace.files.front().capture.dropped, 0);
  EXPECT_EQ(of(trace, RecordKind::kKernel).size(), 8u * 1100);
}

TEST_F(CuptiCaptureTest, SaysWhichToolIsInItsWay) {
  cupti.refuse["cuptiSubscribe_v2"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_EQ(CuptiCapture::start(cupti.api(), host, small(), refusal), nullptr);
  EXPECT_NE(refusal.message.find("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"), std::string::npos);
  EXPECT_NE(refusal.remedy.find("CUPTI for nsys"), std::string::npos);
}

TEST_F(CuptiCaptureTest, LeavesNothingEnabledWhereItCannotBegin) {
  cupti.refuse["cuptiActivityEnable"] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  EXPECT_EQ(CuptiCapture::start(cupti.api(), host, small(), refusal), nullptr);
  EXPECT_NE(refusal.message.find("activity kind"), std::string::npos) << refusal.message;
  EXPECT_FALSE(cupti.subscribed());
  EXPECT_FALSE(cupti.isEnabled(CUPTI_ACTIVITY_KIND_MEMCPY));
  cupti.refuse.clear();
  start().stop(StopMode::kAtOnce);  // and the next may
}

TEST_F(CuptiCaptureTest, GoesOnWithoutACallThatThisCuptiDoesNotKnow) {
  cupti.refuseCall[CUPTI_DRIVER_TRACE_CBID_cuStreamCreate] = CUPTI_ERROR_INVALID_PARAMETER;
  CuptiCapture& capture = start();
  cupti.launch("kernel");
  EXPECT_EQ(of(capture.stop(StopMode::kAtOnce), RecordKind::kKernel).size(), 1u);
  EXPECT_EQ(capture.cost().untracedCalls, 1);
}

TEST_F(CuptiCaptureTest, DoesNotBeginWhereACallIsRefusedForAnotherReason) {
  cupti.refuseCall[CUPTI_DRIVER_TRACE_CBID_cuStreamCreate] = CUPTI_ERROR_NOT_INITIALIZED;
  EXPECT_EQ(CuptiCapture::start(cupti.api(), host, small(), refusal), nullptr);
  EXPECT_NE(refusal.message.find("cuStreamCreate"), std::string::npos) << refusal.message;
}

TEST_F(CuptiCaptureTest, IsOneAtATime) {
  CuptiCapture& capture = start();
  EXPECT_EQ(CuptiCapture::start(cupti.api(), host, small(), refusal), nullptr);
  EXPECT_NE(refusal.message.find("running"), std::string::npos);
  capture.stop(StopMode::kAtOnce);
}

}  // namespace
}  // namespace redraft::harness

// A sanitizer ends the program where malloc would return null, which is what a test above asks for.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
