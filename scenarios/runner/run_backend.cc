#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {

RunBackend& startBackend(const Scenario& scenario) {
  return scenario.backend == "cuda" ? startCudaBackend(scenario) : startSimBackend(scenario);
}

}  // namespace redraft::scenarios
