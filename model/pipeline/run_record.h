#pragma once
// The record that a training run keeps of its steps: metrics.jsonl and digests.bin of docs/formats.md. A checkpoint
// holds a copy, from which a resumed run goes on, so that the files end up as if nothing had happened. One thread at a
// time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "model/pipeline/gradient_digest.h"
#include "model/pipeline/step_metrics.h"

namespace redraft::model {

class RunRecord {
 public:
  /// Starts metrics.jsonl in `folder` with `header` (scenario, numerics_class; the schema is added). `parameters`:
  /// names in order.
  RunRecord(std::string folder, const Json& header, std::vector<std::string> parameters);

  /// Replaces what is there by what save() wrote to `saved`. Throws Error(kBadInput) when that is not a record of these
  /// parameters.
  void restore(const std::string& saved);
  /// Copies of both files as they are now.
  void save(const std::string& folder) const;

  /// Appends the line of one step at once; its digests, if it kept any, follow with writeDigests().
  void add(const StepMetrics& metrics, std::vector<GradientDigest> digests);
  void addEvaluation(const std::vector<std::int64_t>& acceptLengths, double meanAcceptLength,
                     const std::string& textHash, bool greedyEqual);
  void writeDigests() const { writeDigests(folder_); }

  std::int64_t steps() const { return static_cast<std::int64_t>(digests_.size()); }

 private:
  void append(const Json& line);
  void writeDigests(const std::string& folder) const;

  std::string folder_;
  std::vector<std::string> parameters_;
  std::vector<std::string> lines_;
  std::vector<std::int64_t> numbers_;  // of the steps
  std::vector<std::vector<GradientDigest>> digests_;
  std::unique_ptr<LineWriter> writer_;
};

}  // namespace redraft::model
