#pragma once
// Workload "kernel-cache": compiled attention alone, through the driver and the cache, with no training around it. Each
// drafter is a thread with a full context of its own on its device, so that one device is enough to show what belongs
// to a context. Even steps launch on the drafter's own thread, odd ones on a thread made for the launch, which finds
// the cache warm.

#include <string>

#include "scenarios/runner/run_session.h"

namespace redraft::scenarios {

/// As runScenario(). Throws Error(kEnvironment) with the remedy when the scenario asks for `cuda` and there is none.
int runKernelCache(const Scenario& scenario, const RunOptions& options, const std::string& token);

}  // namespace redraft::scenarios
