#include "scenarios/runner/session_parts.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace redraft::scenarios {

std::string eventsPath(const RunOptions& options) { return joinPath(options.ownFolder(), "events.jsonl"); }

void claimFolder(const RunOptions& options) {
  const std::string events = eventsPath(options);
  if (!fileExists(events)) return;
  if (!options.resume) {
    throwBadInput(events, "this folder was run already",
                  "use a new folder, or --resume to go on from its newest checkpoint");
  }
  for (int attempt = 1;; ++attempt) {
    const std::string kept = joinPath(options.ownFolder(), "events." + std::to_string(attempt) + ".jsonl");
    if (fileExists(kept)) continue;
    std::error_code error;
    std::filesystem::rename(events, kept, error);
    if (error) throw Error(ErrorKind::kEnvironment, events, "could not be set aside: " + error.message());
    return;
  }
}

std::string readToken(const Scenario& scenario, const std::string& folder) {
  const std::string path = joinPath(folder, "schedule.token");
  if (!fileExists(path)) return freeScheduleToken(scenario);
  std::string token = readFile(path, 4096);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token != freeScheduleToken(scenario)) {
    throwBadInput(path, "the token \"" + token + "\" is not one of this scenario's",
                  "it is " + freeScheduleToken(scenario));
  }
  return token;
}

std::unique_ptr<harness::CapturedRun> startCapture(const Scenario& scenario, const RunOptions& options) {
  if (scenario.backend != "cuda" || !options.capture) return nullptr;
  return std::make_unique<harness::CapturedRun>();
}

void writeCapture(harness::CapturedRun& capture, const RunOptions& options, bool completed) {
  capture.writeTo(joinPath(options.ownFolder(), "trace"),
                  completed ? harness::StopMode::kWaitForDevices : harness::StopMode::kAtOnce);
}

Json metricsHeader(const Scenario& scenario, const RunClasses& classes) {
  Json header = {{"scenario", scenario.name}, {"numerics_class", classes.numerics}};
  if (!classes.performance.empty()) header["performance_class"] = classes.performance;
  return header;
}

void configureCache(devices::KernelCache& cache, const KernelCacheSpec& spec) {
  cache.setKey(spec.key == "context" ? devices::keyByContext() : devices::keyByPassedDevice());
  cache.setLoadMode(spec.load == "library" ? devices::LoadMode::kLibrary : devices::LoadMode::kModule);
}

std::string messageOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "not a std::exception";
  }
}

}  // namespace redraft::scenarios
