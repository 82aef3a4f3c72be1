#pragma once
// A scenario: what one run is, as docs/formats.md ("Scenario") specifies it. Defaults are the members' initial values.
// Each key is declared once, in scenario_fields.h, which the reader, the writer and the published JSON Schema share.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "devices/topology.h"

namespace redraft::scenarios {

inline constexpr const char* kScenarioSchema = "redraft.scenario/1";

struct TopologySpec {
  int devices = 8;
  std::string peer = "on";                        // "on", "off"
  bool distinct = false;                          // a GPU for each device, or the case is skipped
  bool greenContexts = false;                     // of roles that share a GPU each has some multiprocessors to itself
  std::vector<int> gpus;                          // of each logical device; empty: shared out over those there are
  std::map<std::string, std::vector<int>> roles;  // "drafter" → {6, 7}: the workers drafter[0] on 6 and drafter[1] on 7
  std::vector<std::pair<std::string, std::string>> copies = {{"target", "drafter"}, {"drafter", "drafter"}};

  int workers(const std::string& role) const;  // 0 when the role is not there
  devices::Topology resolve() const;
};

struct TargetSpec {
  std::string checkpoint;  // folder or file; "" when `config` is given
  Json config;             // the field's config.json, for random weights from the seed; null when `checkpoint` is given
  std::string source = "layers";  // of hidden states: "layers", "table"
};

struct DataSpec {
  std::string path;             // "" where they are made from the seed
  std::string format = "text";  // "text", "conversations", "tokens", "random"
  int sequenceLength = 128;
  int samples = 64;  // of "random"
};

struct TrainingSpec {
  int steps = 10;
  int microBatches = 4;     // a step, over all drafters
  int batchSize = 1;        // sequences a micro-batch
  int anchors = 16;         // a sequence
  std::string loss = "ce";  // "ce", "dpace", "dpace-cumulative-confidence-only", "dpace-continuation-value-only"
  std::optional<double> gamma;
  int chunkBlocks = 0;  // blocks a chunk of the LM head and loss; 0: whole
  double learningRate = 6e-4;
  std::string schedule = "cosine";  // "constant", "cosine"
  double warmup = 0.04;             // fraction of the steps
  double clip = 1.0;                // global gradient norm; 0: no clipping
  std::string dtype = "float32";    // "float32", "bfloat16"
  int queueDepth = 4;
  std::string exchange = "overlapped";  // "overlapped", "after-backward"
  int bucketMib = 128;                  // of gradients that are exchanged together, in float32
  int digestEvery = 1;                  // steps; 0: never
  int compareEvery = 1;                 // steps; 0: never
  int checkpointEvery = 0;              // steps; 0: never
};

struct EvaluateSpec {
  int prompts = 2;
  int promptTokens = 32;
  int newTokens = 32;
};

struct KernelCacheSpec {
  std::string key = "device";   // "device", "context"
  std::string load = "module";  // "module", "library"
  bool compiled = true;         // false: the dense reference attention
};

/// Numbers moved by as much as rounding moves them, to see how the run answers (golden/tolerance.h).
struct PerturbationSpec {
  std::uint64_t seed = 1;        // of the signs
  std::string unit = "float32";  // what is moved: "float32", "bfloat16", "attention"
};

struct FaultSpec {
  std::string name;
  Json parameters = Json::object();  // every key of `fault` but `name`
};

struct ExpectSpec {
  std::string verdict = "PASSED";  // "PASSED", "FAILED", "CRASHED", "HUNG"
  std::string finding;             // "" with PASSED
};

struct LimitsSpec {
  double hangSeconds = 30;  // without a progress mark
  double seconds = 300;     // the whole run
};

struct Scenario {
  std::string name;  // "dual-drafter/mask-on-other-device[topology.peer=off]"
  std::string description;
  std::string workload = "training";  // "training", "kernel-cache"
  std::string backend = "sim";        // "sim", "cuda"
  TopologySpec topology;
  std::string strict = "raw-launch";  // "raw-launch", "all-ops"
  int threads = 1;
  std::string isa = "avx2";  // that LibTorch and its libraries may use: "avx2", "default", "avx512"
  int processes = 1;         // that share out the drafters and targets
  std::uint64_t seed = 0;
  TargetSpec target;
  Json drafter;  // the field's config.json of the drafter, with dflash_config
  DataSpec data;
  TrainingSpec training;
  std::optional<EvaluateSpec> evaluate;
  KernelCacheSpec kernelCache;
  std::optional<PerturbationSpec> perturbation;
  std::optional<FaultSpec> fault;
  Json contract;  // what it changes of its topology's affinity contract (scenario_contract.h); null: nothing
  ExpectSpec expect;
  std::string golden;     // name of the golden that a clean run is compared with; "": none
  std::string scalingOf;  // name of the scenario that its throughput is a multiple of; "": none
  LimitsSpec limits;
};

/// A resolved scenario (`scenario.resolved.json` of a run folder): no `extends`, no `matrix`; data paths are relative
/// to the run folder and stay inside it. Throws Error(kBadInput) with file, line, key and the nearest valid key.
Scenario loadResolvedScenario(const std::string& path);
Scenario parseResolvedScenario(const JsonDocument& document);

/// The resolved JSON, with every default written out. parse(resolved(x)) is x.
Json resolvedScenario(const Scenario& scenario);

/// 32 hex digits over what decides a run's results: everything but name, description, processes, contract,
/// expect, golden, scaling_of and limits.
std::string configurationHash(const Scenario& scenario);

/// The token of a free run: "free/1/<configuration hash>/<seed>".
std::string freeScheduleToken(const Scenario& scenario);

}  // namespace redraft::scenarios
