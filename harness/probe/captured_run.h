#pragma once
// A run whose devices are captured: begins the capture with its canaries, and leaves its trace in a folder.

#include <memory>
#include <string>

#include "harness/probe/device_capture.h"

namespace redraft::harness {

/// Names the canaries that the audit's own checks find among the canary thread's records in
/// CaptureInfo::canaries, and takes these records out: they are no part of the run. One that was planted and is not
/// found is a lost record.
void takeCanaries(Trace& trace, const CanaryPlan& plan);

class CapturedRun {
 public:
  /// Throws as startCapture() does.
  explicit CapturedRun(const CaptureOptions& options = {});
  /// For tests: a capture that runs already.
  explicit CapturedRun(std::unique_ptr<DeviceCapture> capture);

  /// A step has ended. Returns at once.
  void flush(std::int64_t step) { capture_->flush(step); }
  /// Ends the capture: the trace, without canaries.
  Trace stop(StopMode mode);
  /// stop(), written by writeTraceFolder(), and its cost to the log. Throws Error(kEnvironment).
  void writeTo(const std::string& folder, StopMode mode);
  DeviceCapture& capture() { return *capture_; }

 private:
  std::unique_ptr<DeviceCapture> capture_;
  CanaryPlan canaries_;
};

}  // namespace redraft::harness
