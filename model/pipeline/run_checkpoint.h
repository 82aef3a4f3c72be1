#pragma once
// Saved states of a training run: FOLDER/step-N/, written beside and renamed when whole, so that a kill at any moment
// leaves either a whole checkpoint or none. N is the number of steps done.

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "model/drafter.h"
#include "model/optimizer.h"
#include "model/pipeline/run_record.h"

namespace redraft::model {

struct RunCheckpoint {
  std::string folder;
  std::int64_t steps = 0;
};

/// Writes step-N of `folder` and removes all but the two newest. `configuration` says what the run is; a resumed run
/// must have the same. Throws Error(kEnvironment) when it cannot be written; then the older ones are as they were.
void saveRunCheckpoint(const std::string& folder, std::int64_t steps, const std::string& configuration,
                       const Drafter& drafter, const AdamW& optimizer, const RunRecord& record);

/// The newest one whose files are all there with the hashes that it was written with; damaged ones are passed over with
/// a warning. Empty when there is none. Throws Error(kBadInput) when the newest is of another configuration.
std::optional<RunCheckpoint> newestRunCheckpoint(const std::string& folder, const std::string& configuration);

/// Puts a replica and its optimizer where they were. The parameters' bits follow from the masters.
void loadRunCheckpoint(const RunCheckpoint& checkpoint, const Drafter& drafter, AdamW& optimizer);

}  // namespace redraft::model
