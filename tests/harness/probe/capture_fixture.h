#pragma once
// A capture over a CUPTI that is a fake, and a role for each thread of the program.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/probe/cupti_capture.h"
#include "tests/harness/probe/fake_cupti.h"

namespace redraft::harness {

using testing_support::FakeCupti;

inline thread_local devices::Origin originHere;
inline devices::Origin hereOrigin() { return originHere; }

inline std::vector<TraceRecord> of(const Trace& trace, RecordKind kind) {
  std::vector<TraceRecord> found;
  for (const TraceRecord& record : trace.records)
    if (record.kind == kind) found.push_back(record);
  return found;
}

class CuptiCaptureTest : public testing::Test {
 protected:
  CuptiCapture& start(const CaptureOptions& options = small()) {
    CuptiCapture* const capture = CuptiCapture::start(cupti.api(), host, options, refusal);
    EXPECT_NE(capture, nullptr) << refusal.message;
    return *capture;
  }
  static CaptureOptions small() {
    CaptureOptions options;
    options.bufferBytes = 4096;
    options.buffers = 4;
    options.originSlots = 1 << 10;
    options.resources = 64;
    return options;
  }
  static std::string roleName(devices::RoleId id) { return "role[" + std::to_string(id) + "]"; }

  FakeCupti cupti;
  CaptureHost host{&hereOrigin, &roleName};
  CaptureRefusal refusal;
};

}  // namespace redraft::harness
