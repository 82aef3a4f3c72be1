#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "scenarios/spec/scenario_contract.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

class Checker {
 public:
  Checker(const Scenario& scenario, const PlaceOf& placeOf) : scenario_(scenario), placeOf_(placeOf) {}

  void all() const {
    if (trains()) {
      for (const char* role : {"target", "drafter"}) {
        roleIsThere(role);
        oneWorkerADevice(role);
      }
    } else {
      roleIsThere("drafter");
    }
    gpus();
    copies();
    processes();
    if (trains()) {
      inputs();
      training();
    }
    outcome();
    contractOf(scenario_, placeOf_("/contract"));
  }

 private:
  void require(bool holds, const char* pointer, const std::string& message, const std::string& remedy) const {
    if (!holds) throwBadInput(placeOf_(pointer), message, remedy);
  }

  bool trains() const { return scenario_.workload == "training"; }

  void roleIsThere(const std::string& role) const {
    const TopologySpec& topology = scenario_.topology;
    require(topology.workers(role) > 0, "/topology/roles", "no device has the role \"" + role + "\"",
            "write \"roles\": {\"target\": [0], \"drafter\": [1]}");
    const std::vector<int>& devices = topology.roles.at(role);
    const int highest = *std::max_element(devices.begin(), devices.end());
    require(highest < topology.devices, "/topology/roles",
            "device " + std::to_string(highest) + " is not there: the topology has " +
                std::to_string(topology.devices) + " devices",
            "raise \"devices\" or choose another device");
  }

  void oneWorkerADevice(const std::string& role) const {
    const std::vector<int>& devices = scenario_.topology.roles.at(role);
    require(std::set<int>(devices.begin(), devices.end()).size() == devices.size(), "/topology/roles",
            "the role \"" + role + "\" names a device twice", "one worker a device");
  }

  void gpus() const {
    const TopologySpec& topology = scenario_.topology;
    const std::set<int> named(topology.gpus.begin(), topology.gpus.end());
    require(named.empty() || topology.gpus.size() == static_cast<std::size_t>(topology.devices), "/topology/gpus",
            std::to_string(topology.gpus.size()) + " GPUs for " + std::to_string(topology.devices) + " devices",
            "name the GPU of every device, or take the key away");
    require(!topology.distinct || named.size() == topology.gpus.size(), "/topology/gpus",
            "a GPU is named twice, but each device is to have one of its own (distinct)", "write \"distinct\": false");
  }

  void processes() const {
    const int processes = scenario_.processes;
    require(!scenario_.topology.greenContexts || trains(), "/topology/green_contexts",
            "a " + scenario_.workload + " run makes contexts of its own", "take it away");
    require(!scenario_.perturbation || trains(), "/perturbation",
            "a " + scenario_.workload + " run has no parameters to move", "take it away");
    const bool moves = scenario_.perturbation && scenario_.perturbation->unit == "attention";
    require(!moves || scenario_.kernelCache.compiled, "/perturbation/unit",
            "this run has no compiled attention to perturb", "write \"float32\"");
    require(processes == 1 || trains(), "/processes", "a " + scenario_.workload + " run is not shared out", "write 1");
    for (const char* role : {"target", "drafter"}) {
      if (processes == 1) break;
      require(scenario_.topology.workers(role) >= processes, "/processes",
              std::to_string(processes) + " processes for " + std::to_string(scenario_.topology.workers(role)) +
                  " of the role \"" + role + "\"",
              "every process needs a target and a drafter of its own");
    }
  }

  void copies() const {
    for (const auto& [from, to] : scenario_.topology.copies) {
      for (const std::string& role : {from, to}) {
        const std::string near = nearest(role, {"target", "drafter"});
        require(scenario_.topology.workers(role) > 0, "/topology/copies", "no role \"" + printable(role) + "\"",
                near.empty() ? "the roles are \"target\" and \"drafter\"" : "did you mean \"" + near + "\"?");
      }
    }
  }

  void inputs() const {
    const TargetSpec& target = scenario_.target;
    require(target.checkpoint.empty() != target.config.is_null(), "/target",
            "a target has either a checkpoint or a config", "write {\"checkpoint\": PATH}, or {\"config\": {…}}");
    require(scenario_.drafter.is_object(), "/drafter", "missing", "give the drafter's config.json");
    const bool random = scenario_.data.format == "random";
    require(scenario_.data.path.empty() == random, "/data",
            random ? "random tokens come from no file" : "missing key \"path\"",
            random ? "take \"path\" away" : "name the file of samples");
    require(target.source == "layers" || !scenario_.evaluate, "/evaluate", "a target without layers generates nothing",
            "take \"evaluate\" away, or write \"source\": \"layers\"");
  }

  void training() const {
    const int drafters = scenario_.topology.workers("drafter");
    require(scenario_.training.microBatches >= drafters, "/training/micro_batches",
            std::to_string(scenario_.training.microBatches) + " micro-batches for " + std::to_string(drafters) +
                " drafters",
            "give each drafter at least one");
  }

  void outcome() const {
    const ExpectSpec& expect = scenario_.expect;
    require(expect.verdict != "PASSED" || expect.finding.empty(), "/expect", "a passed case has no finding",
            "take \"finding\" away, or expect FAILED");
    require(expect.verdict != "FAILED" || !expect.finding.empty(), "/expect",
            "a failure is expected, but not which one", "name the finding (docs/formats.md, \"Findings\")");
    require(!scenario_.fault || !scenario_.fault->name.empty(), "/fault", "missing key \"name\"", "name the fault");
    require(scenario_.golden.empty() || isScenarioName(scenario_.golden.substr(0, scenario_.golden.find('['))),
            "/golden", "\"" + printable(scenario_.golden) + "\" is not a scenario's name",
            "write true, false or a name");
    require(scenario_.scalingOf.empty() || isScenarioName(scenario_.scalingOf), "/scaling_of",
            "\"" + printable(scenario_.scalingOf) + "\" is not a scenario's name", "write a name");
  }

  const Scenario& scenario_;
  const PlaceOf& placeOf_;
};

}  // namespace

void checkScenario(const Scenario& scenario, const PlaceOf& placeOf) { Checker(scenario, placeOf).all(); }

}  // namespace redraft::scenarios
