#pragma once
// How the processes of one run come together.

#include <memory>
#include <optional>
#include <string>

#include "base/launch_environment.h"
#include "model/pipeline/collective.h"
#include "model/pipeline/pipeline.h"
#include "model/pipeline/run_checkpoint.h"
#include "model/pipeline/run_monitor.h"

namespace redraft::scenarios {

/// Null with one process. Waits until all are there, and makes sure that they run the same thing from the same step.
/// Gradients go through NCCL where drafters are on GPUs, else through the store. `folder`: this process's own.
/// Throws model::RankLost for one that does not come, Error(kEnvironment) when there is no place to meet, or
/// Error(kBadInput) for one that runs something else. `monitor` outlives what is returned.
std::unique_ptr<model::Collective> meetRanks(const LaunchEnvironment& launch, model::RunMonitor& monitor,
                                             const model::PipelineOptions& options,
                                             const std::optional<model::RunCheckpoint>& from,
                                             const std::string& folder);

}  // namespace redraft::scenarios
