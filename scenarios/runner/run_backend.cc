#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {

RunBackend& startBackend(const Scenario& scenario, const ProcessLayout& layout) {
  return scenario.backend == "cuda" ? startCudaBackend(scenario, layout) : startSimBackend(scenario);
}

}  // namespace redraft::scenarios
