#pragma once
// From a resolved scenario to what the pipeline takes: data, models, options. Throws Error(kBadInput) for anything that
// does not fit together, before a run begins.

#include <string>
#include <vector>

#include "model/pipeline/pipeline.h"
#include "scenarios/runner/run_backend.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

struct Materials {
  std::vector<model::Sample> samples;  // those that are trained on
  model::PipelineModels models;
  model::PipelineOptions options;
};

/// Paths of the scenario are relative to `folder`. Devices are the backend's, which is open.
Materials loadMaterials(const Scenario& scenario, const std::string& folder, const RunBackend& backend);

/// What a checkpoint is bound to: the configuration hash.
model::DataFormat dataFormat(const std::string& name);

}  // namespace redraft::scenarios
