#pragma once
// What the sessions of all workloads do alike.

#include <exception>
#include <memory>
#include <string>

#include "base/json.h"
#include "devices/kernel_cache.h"
#include "harness/probe/captured_run.h"
#include "scenarios/runner/run_backend.h"
#include "scenarios/runner/run_session.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

std::string eventsPath(const RunOptions& options);
/// A folder is run once; --resume keeps what the interrupted run recorded under another name.
void claimFolder(const RunOptions& options);
/// The folder's token. Throws Error(kBadInput) for one that is not this scenario's.
std::string readToken(const Scenario& scenario, const std::string& folder);

/// The capture of a run on CUDA devices; null where they are simulated, or it is not wanted. Before the run's first
/// context. Throws Error(kEnvironment) with the remedy.
std::unique_ptr<harness::CapturedRun> startCapture(const Scenario& scenario, const RunOptions& options);
/// Ends it and writes trace/. What a run that failed has not finished is left untimed rather than waited for.
void writeCapture(harness::CapturedRun& capture, const RunOptions& options, bool completed);

/// First line of metrics.jsonl.
Json metricsHeader(const Scenario& scenario, const RunClasses& classes);
/// Key and load mode, before the fault is installed.
void configureCache(devices::KernelCache& cache, const KernelCacheSpec& spec);
std::string messageOf(const std::exception_ptr& error);

}  // namespace redraft::scenarios
