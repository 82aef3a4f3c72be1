// What a program declares, in the trace of its devices.
#include <thread>

#include "harness/affinity/trace_audit.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/harness/probe/activities.h"
#include "tests/harness/probe/capture_fixture.h"

namespace redraft::harness {
namespace {

using namespace testing_support;

/// A target's stream 13 of context 1, a drafter's stream 14 of context 2, and what is between them.
class CuptiHandOffTest : public CuptiCaptureTest {
 protected:
  enum class Wait { kNone, kOfAnEarlierRecording, kRight };

  Trace handOver(Wait wait) {
    CuptiCapture& capture = start();
    cupti.makeContext(1, 0);
    cupti.makeContext(2, 1);
    std::uint32_t number = 0;
    std::thread([&] {
      originHere = {1, devices::Phase::kTargetForward, 4};
      cupti.recordEvent(1, 13, 500);
      cupti.launch("forward", 1, 0, 13);
      number = capture.declarations().given({0, streamHandle(1, 13)}, 4096);
      cupti.recordEvent(1, 13, 501);
    }).join();
    std::thread([&] {
      originHere = {2, devices::Phase::kHandOff, 4};
      capture.declarations().taken(number, {1, streamHandle(2, 14)}, 4096);
      if (wait != Wait::kNone) cupti.waitEvent(2, 14, wait == Wait::kRight ? 501 : 500);
      cupti.launch("gather", 2, 1, 14);
    }).join();
    return capture.stop(StopMode::kWaitForDevices);
  }
};

TEST_F(CuptiHandOffTest, DeclaredEndsAreRecordsOnTheirStreams) {
  const Trace trace = handOver(Wait::kRight);
  const std::vector<TraceRecord> ends = of(trace, RecordKind::kHandOff);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(std::make_tuple(ends[0].device, ends[0].context, ends[0].stream, ends[0].bytes, ends[0].flags),
            std::make_tuple(0, 1, 13, 4096, 0));
  EXPECT_EQ(std::make_tuple(ends[1].device, ends[1].context, ends[1].stream, ends[1].bytes, ends[1].flags),
            std::make_tuple(1, 2, 14, 4096, static_cast<int>(kConsumer)));
  EXPECT_EQ(ends[0].handoff, ends[1].handoff);
  EXPECT_EQ(trace.text(ends[0].role), "role[1]");
  EXPECT_EQ(trace.text(ends[1].phase), "hand_off");
  EXPECT_EQ(ends[1].step, 4);
  EXPECT_TRUE(trace.files.front().captured(RecordKind::kHandOff));
}

TEST_F(CuptiHandOffTest, A8TellsTheRightWaitFromAMissingAndAnEarlierOne) {
  for (const Wait wait : {Wait::kRight, Wait::kNone, Wait::kOfAnEarlierRecording}) {
    const TraceAudit audit = auditTrace(handOver(wait), nullptr);
    const TraceCheck check = checkOf(audit, "A8");
    EXPECT_EQ(check.state, wait == Wait::kRight ? AuditState::kClean : AuditState::kFound) << check.reason;
    if (wait == Wait::kRight) continue;
    ASSERT_EQ(check.count, 1);
    EXPECT_NE(check.violations[0].message.find("producer (role[1]"), std::string::npos) << check.violations[0].message;
    EXPECT_EQ(check.violations[0].role, "role[2]");
    EXPECT_EQ(check.violations[0].step, 4);
  }
}

TEST_F(CuptiHandOffTest, AStreamWithoutAHandleIsTheNullStreamOfItsDevicesPrimaryContext) {
  CuptiCapture& capture = start();
  cupti.makeContext(1, 0);
  capture.declarations().given({0, nullptr}, 8);
  const Trace trace = capture.stop(StopMode::kAtOnce);
  ASSERT_EQ(of(trace, RecordKind::kHandOff).size(), 1u);
  EXPECT_EQ(of(trace, RecordKind::kHandOff)[0].context, 1);
  EXPECT_EQ(of(trace, RecordKind::kHandOff)[0].stream, 7);
}

TEST_F(CuptiHandOffTest, AStreamThatCuptiDoesNotKnowIsALostRecord) {
  CuptiCapture& capture = start();
  cupti.refuse["cuptiGetStreamIdEx"] = CUPTI_ERROR_INVALID_STREAM;
  capture.declarations().given({0, streamHandle(1, 13)}, 8);
  EXPECT_EQ(capture.stop(StopMode::kAtOnce).files.front().capture.dropped, 1);
}

CUpti_ActivityContext3 greenContext(std::uint32_t context, std::uint32_t device) {
  CUpti_ActivityContext3 green = contextActivity(context, device);
  green.isGreenContext = 1;
  green.numMultiprocessors = 16;
  return green;
}

CUpti_ActivitySynchronization2 waitOf(std::uint32_t context, std::uint32_t stream) {
  CUpti_ActivitySynchronization2 wait = waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 0, 5);
  wait.contextId = context;
  wait.streamId = stream;
  return wait;
}

TEST_F(CuptiHandOffTest, AWaitOfAGreenContextsStreamIsThatContexts) {
  CuptiCapture& capture = start();
  cupti.emit(contextActivity(1, 0));
  cupti.emit(greenContext(5, 0));
  cupti.emit(contextActivity(2, 1));
  cupti.launch("in the green context", 5, 0, 21);
  cupti.launch("in the primary one", 1, 0, 13);
  cupti.launch("on another device", 2, 1, 21);
  cupti.emit(waitOf(1, 21));  // as CUPTI gives it
  cupti.emit(waitOf(1, 13));
  cupti.emit(waitOf(1, 99));  // of a stream that nothing else is known of
  cupti.emit(waitOf(2, 21));
  std::vector<std::pair<int, int>> waits;
  for (const TraceRecord& wait : of(capture.stop(StopMode::kAtOnce), RecordKind::kSync))
    waits.emplace_back(wait.context, wait.stream);
  EXPECT_EQ(waits, (std::vector<std::pair<int, int>>{{5, 21}, {1, 13}, {1, 99}, {2, 21}}));
}

TEST_F(CuptiHandOffTest, AQueryThatFoundItsEventDoneIsNoWait) {
  CuptiCapture& capture = start();
  constexpr std::uint32_t kCall = 900, kQuery = 901;
  cupti.emit(callActivity(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, kCall, 7));
  for (const std::uint32_t correlation : {kCall, kQuery})
    cupti.emit(waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, correlation, 5));
  const std::vector<TraceRecord> waits = of(capture.stop(StopMode::kAtOnce), RecordKind::kSync);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].correlation, kCall);
  EXPECT_EQ(waits[0].thread, 7);
}

TEST_F(CuptiHandOffTest, AStreamThatARoleDeclaresItsOwnIsNoOthers) {
  CuptiCapture& capture = start();
  cupti.emit(greenContext(5, 0));
  originHere = {1, devices::Phase::kNone, -1};
  capture.declarations().owns({0, streamHandle(5, 21)});
  cupti.launch("forward", 5, 0, 21);
  originHere = {2, devices::Phase::kNone, -1};
  cupti.launch("gather", 5, 0, 21);
  originHere = {};
  const TraceCheck check = checkOf(auditTrace(capture.stop(StopMode::kWaitForDevices), nullptr), "A2");
  ASSERT_EQ(check.state, AuditState::kFound) << check.reason;
  EXPECT_EQ(check.count, 1);
  EXPECT_EQ(check.violations[0].message,
            "role[2] worked on stream 21 of context 5 (green context of 16 multiprocessors), which is role[1]'s own");
}

class CuptiNcclTest : public CuptiCaptureTest {
 protected:
  /// A gather of rank 1, on `device`, declared or not.
  TraceCheck gather(std::uint32_t device, bool declared) {
    CuptiCapture& capture = start();
    cupti.makeContext(device + 1, device);
    capture.declarations().joined({"drafters", 1, 1, {"GPU-a", "GPU-b"}});
    const std::int64_t began = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    cupti.launch("ncclDevKernel_AllGather_RING_LL", device + 1, device);
    if (declared) capture.declarations().issued({"drafters", "the gradients", 4096, began});
    std::thread([&] { cupti.launch("forward", device + 1, device); }).join();
    return checkOf(auditTrace(capture.stop(StopMode::kWaitForDevices), nullptr), "A10");
  }
};

TEST_F(CuptiNcclTest, AKernelOfACollectiveIsHeldToItsCommunicatorsDevice) {
  EXPECT_EQ(gather(1, true).state, AuditState::kClean);
  const TraceCheck wrong = gather(0, true);
  ASSERT_EQ(wrong.state, AuditState::kFound) << wrong.reason;
  EXPECT_EQ(wrong.violations[0].message, "on device 0, and communicator drafters is on device 1");
}

TEST_F(CuptiNcclTest, AKernelThatNobodyDeclaredMakesItNotComputable) {
  const TraceCheck check = gather(1, false);
  EXPECT_EQ(check.state, AuditState::kNotComputable);
  EXPECT_NE(check.reason.find("1 of 1 NCCL kernels"), std::string::npos) << check.reason;
}

}  // namespace
}  // namespace redraft::harness
