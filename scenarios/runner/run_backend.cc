#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {

RunBackend& startBackend(const Scenario& scenario, const std::vector<std::string>& roles) {
  return scenario.backend == "cuda" ? startCudaBackend(scenario, roles) : startSimBackend(scenario);
}

}  // namespace redraft::scenarios
