#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "scenarios/faults/fault.h"
#include "scenarios/faults/host_sync_fault.h"
#include "scenarios/faults/kernel_cache_faults.h"
#include "scenarios/faults/missing_wait_fault.h"
#include "scenarios/faults/numerics_faults.h"
#include "scenarios/faults/process_faults.h"
#include "scenarios/faults/slowdown_faults.h"
#include "scenarios/faults/tracing_flag_fault.h"
#include "scenarios/faults/wrong_device_faults.h"

namespace redraft::scenarios {

namespace {

using Maker = std::unique_ptr<Fault> (*)(JsonReader parameters);

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> kMakers = {
      {"shared-kernel-cache", makeSharedKernelCache},
      {"half-fix", makeHalfFix},
      {"mask-on-other-device", makeMaskOnOtherDevice},
      {"recompute-on-other-device", makeRecomputeOnOtherDevice},
      {"stray-context", makeStrayContext},
      {"tracing-flag", makeTracingFlag},
      {"crash", makeCrash},
      {"hang", makeHang},
      {"drift", makeDrift},
      {"slow", makeSlow},
      {"throw", makeThrow},
      {"host-sync", makeHostSync},
      {"missing-wait", makeMissingWait},
      {"stretch", makeStretch},
      {"extra-copy", makeExtraCopy},
      {"wrong-scale", makeWrongScale},
      {"wrong-position", makeWrongPosition},
      {"slipped-update", makeSlippedUpdate},
      {"lost-part", makeLostPart},
      {"stale-result", makeStaleResult},
  };
  return kMakers;
}

}  // namespace

std::vector<std::string> faultNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers()) names.push_back(name);
  return names;
}

std::unique_ptr<Fault> makeFault(const Scenario& scenario) {
  if (!scenario.fault) return std::make_unique<Fault>();
  const std::string& name = scenario.fault->name;
  const auto found = makers().find(name);
  if (found == makers().end()) {
    const std::string near = nearest(name, faultNames());
    throwBadInput(scenario.name + ": fault.name", "there is no fault \"" + name + "\"",
                  near.empty() ? "there are: " + join(faultNames(), ", ") : "did you mean \"" + near + "\"?");
  }
  const JsonDocument parameters = JsonDocument::parse(scenario.fault->parameters.dump(), scenario.name + ": fault");
  return found->second(JsonReader(parameters));
}

}  // namespace redraft::scenarios
