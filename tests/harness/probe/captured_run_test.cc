#include "harness/probe/captured_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/affinity/trace_audit.h"
#include "harness/probe/cupti_capture.h"
#include "harness/trace/load_trace.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/harness/probe/fake_cupti.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {
namespace {

using namespace testing_support;

devices::Origin noOrigin() { return {}; }
std::string noRole(devices::RoleId) { return ""; }

/// What libredraft_cupti.so hands out.
class FakeCapture final : public DeviceCapture {
 public:
  explicit FakeCapture(const FakeCupti& cupti) {
    CaptureOptions options;
    options.bufferBytes = 4096;
    options.buffers = 4;
    CaptureRefusal refusal;
    capture_ = CuptiCapture::start(cupti.api(), {&noOrigin, &noRole}, options, refusal);
    EXPECT_NE(capture_, nullptr) << refusal.message;
  }
  ~FakeCapture() override { static_cast<void>(capture_->stop(StopMode::kAtOnce)); }
  CanaryPlan plantCanaries() override { return capture_->plantCanaries(); }
  void flush(std::int64_t step) override { capture_->flush(step); }
  bool pause(std::string& error) override { return capture_->pause(error); }
  bool resume(std::string& error) override { return capture_->resume(error); }
  void leaveOut(const std::set<CapturePart>& parts) override { capture_->leaveOut(parts); }
  Trace stop(StopMode mode) override { return capture_->stop(mode); }
  CaptureCost cost() const override { return capture_->cost(); }
  devices::Declarations& declarations() override { return capture_->declarations(); }

 private:
  CuptiCapture* capture_ = nullptr;
};

class CapturedRunTest : public testing::Test {
 protected:
  FakeCupti cupti;
};

TEST_F(CapturedRunTest, SeesItsCanariesAndTakesThemOut) {
  cupti.devices = 2;
  CapturedRun run(std::make_unique<FakeCapture>(cupti));
  cupti.makeContext(2, 0);
  cupti.launch("kernel", 2);
  const Trace trace = run.stop(StopMode::kWaitForDevices);
  EXPECT_EQ(trace.files.front().capture.canaries, (std::vector<std::string>{"A1", "A3", "A6", "peer_copy"}));
  EXPECT_EQ(trace.files.front().capture.dropped, 0);
  for (const TraceRecord& record : trace.records) {
    EXPECT_NE(record.kind, RecordKind::kCopy);
    EXPECT_NE(record.kind, RecordKind::kPeerCopy);
    EXPECT_TRUE(record.kind != RecordKind::kContext || record.context == 2);
  }
  EXPECT_EQ(checkOf(auditTrace(trace, nullptr), "G7").state, AuditState::kClean);
}

TEST_F(CapturedRunTest, PlantsNoPeerCopyWithOneDeviceAndSaysSo) {
  CapturedRun run(std::make_unique<FakeCapture>(cupti));
  const Trace trace = run.stop(StopMode::kAtOnce);
  EXPECT_EQ(trace.files.front().capture.canaries, (std::vector<std::string>{"A1", "A3", "A6"}));
  EXPECT_EQ(checkOf(auditTrace(trace, nullptr), "G7").reason, "the capture did not plant peer_copy");
}

TEST_F(CapturedRunTest, ACanaryThatIsNotSeenIsALostRecord) {
  cupti.devices = 2;
  CapturedRun run(std::make_unique<FakeCapture>(cupti));
  Trace trace = run.stop(StopMode::kAtOnce);
  TraceBuilder built;
  built.kernel("target", 0).thread = 10;
  built.context(0, 10);
  takeCanaries(built.trace, {10, {"A1", "A6", "peer_copy"}, ""});
  EXPECT_EQ(built.trace.files.front().capture.dropped, 1);  // the peer copy
  EXPECT_TRUE(built.trace.records.empty());
}

TEST_F(CapturedRunTest, LeavesATraceThatTheAuditReads) {
  const TempFolder folder;
  CapturedRun run(std::make_unique<FakeCapture>(cupti));
  cupti.makeContext(2, 0);
  for (int i = 0; i < 3; ++i) cupti.launch("kernel", 2);
  testing::internal::CaptureStderr();
  run.writeTo(folder.path() + "/trace", StopMode::kWaitForDevices);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("0 lost"), std::string::npos) << said;
  EXPECT_NE(said.find("canaries seen: A1 A3 A6 (there is one device)"), std::string::npos) << said;
  const Trace trace = loadTraces({folder.path() + "/trace"});
  EXPECT_EQ(std::count_if(trace.records.begin(), trace.records.end(),
                          [](const TraceRecord& record) { return record.kind == RecordKind::kKernel; }),
            3);
  EXPECT_EQ(trace.files.front().capture.source, "cupti");
}

}  // namespace
}  // namespace redraft::harness
