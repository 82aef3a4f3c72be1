#pragma once
// `redraft-runner run --op-digests FIRST:LAST`: a run that keeps digests of every operation of some steps.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/pipeline/pipeline.h"
#include "scenarios/ops/op_recorder.h"
#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {

struct StepRange {
  std::int64_t first = 0, last = 0;
};

/// "3:4", or "3". Throws Error(kBadInput).
StepRange parseStepRange(const std::string& text);

class OpDigests {
 public:
  /// Behind the fault's own observers, and before the run's threads. `roles`: devices of this process's.
  OpDigests(const StepRange& steps, RunBackend& backend, const std::vector<at::Device>& roles);

  OpRecorder& recorder() { return recorder_; }
  /// op-digests.jsonl, once the run's threads have ended.
  void writeTo(const std::string& folder) { golden::writeOpLog(folder, recorder_.take()); }

 private:
  TensorDigests digests_;
  OpRecorder recorder_;
};

}  // namespace redraft::scenarios
