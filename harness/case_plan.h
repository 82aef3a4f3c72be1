#pragma once
// What the harness knows of a case before it runs. Made by scenarios/cli from a scenario. The scenario itself is text
// here, written to the run folder and never read: a detector cannot see the fault that it is to detect.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/pinned_environment.h"
#include "devices/topology.h"
#include "golden/tolerance.h"
#include "harness/affinity/contract.h"
#include "reports/result.h"

namespace redraft::harness {

struct DataLink {
  std::string source;       // a file or a folder
  std::string destination;  // relative to the run folder
};

struct CasePlan {
  std::string name, description;
  std::string source;        // the scenario's file, as reports show it; "": not known
  std::string scenarioText;  // scenario.resolved.json
  std::string token;         // schedule.token
  std::vector<DataLink> links;
  devices::Topology topology;
  Contract contract;  // that its trace is audited by
  Pinning pinning;
  int processes = 1;  // that share the run out
  std::int64_t steps = 0;
  double hangSeconds = 30;
  double seconds = 300;
  reports::Expectation expected;
  std::string golden;                            // the scenario whose golden it is compared with; "": none
  std::optional<golden::Arithmetic> arithmetic;  // for goldens of another class; nullopt: not known
  std::string scalingOf;  // the case of the suite whose tokens/s its own are given as a multiple of; "": none
};

}  // namespace redraft::harness
