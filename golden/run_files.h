#pragma once
// The small JSON files of a run folder that the comparators read too. Keys are declared here, once; formats:
// docs/formats.md.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/record.h"

namespace redraft::golden {

inline constexpr const char* kMemorySchema = "redraft.memory/1";
inline constexpr const char* kEnvironmentSchema = "redraft.environment/1";
inline constexpr const char* kRunnerSchema = "redraft.runner/1";
inline constexpr const char* kGpusSchema = "redraft.gpus/1";

/// Where a rank keeps what only it can say: the run folder itself for rank 0, rank-N in it for the others.
inline std::string rankFolder(const std::string& folder, int rank) {
  return rank == 0 ? folder : folder + "/rank-" + std::to_string(rank);
}

struct DeviceMemory {
  int device = 0;
  std::int64_t live = 0, peak = 0, segments = 0, allocations = 0;  // devices::MemoryInfo
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("device", device);
    visit("live", live);
    visit("peak", peak);
    visit("segments", segments);
    visit("allocations", allocations);
  }
};

/// What the process holds on a GPU in all, contexts and code too, as the GPU's driver counts it.
struct ProcessMemory {
  std::int64_t pid = 0;
  std::string gpu;  // its UUID
  int device = -1;  // which device of the run that is; -1: none that the process sees
  std::int64_t bytes = 0;
  bool operator==(const ProcessMemory&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("pid", pid);
    visit("gpu", gpu);
    visit.unless("device", device, -1);
    visit("bytes", bytes);
  }
};

/// memory.json, written by the runner at its end.
struct MemoryReport {
  std::string schema = kMemorySchema;
  std::vector<DeviceMemory> devices;
  std::map<std::string, std::map<std::string, std::int64_t>> roles;  // role → device index → bytes allocated in all
  std::vector<ProcessMemory> processes;                              // on GPUs, where their driver says it
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("devices", devices);
    visit("roles", roles);
    visit.unless("processes", processes, std::vector<ProcessMemory>());
  }
};

/// environment.json, written by the supervisor before the child starts.
struct EnvironmentReport {
  std::string schema = kEnvironmentSchema;
  std::string version, commit;
  int processes = 1;                                    // that the run was shared out to
  std::map<std::string, std::string> variables;         // of the child; an allow-list, so that no secret travels
  std::map<std::string, std::string> performanceClass;  // PerformanceClass::fields
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("version", version);
    visit("commit", commit);
    visit.unless("processes", processes, 1);
    visit("variables", variables);
    visit("performance_class", performanceClass);
  }
};

/// What `redraft-runner about` prints, for `redraft doctor`.
struct RunnerAbout {
  std::string schema = kRunnerSchema;
  std::string commit;
  std::map<std::string, std::string> numericsClass;  // NumericsClass::fields of a run with one thread
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("commit", commit);
    visit("numerics_class", numericsClass);
  }
};

struct GpuSeen {
  std::string name;
  int architecture = 0;  // 10 · major + minor
  int multiprocessors = 0;
  std::int64_t bytes = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("architecture", architecture);
    visit("multiprocessors", multiprocessors);
    visit("bytes", bytes);
  }
};

/// What `redraft-runner gpus` prints, for `redraft doctor`: what LibTorch's CUDA half finds.
struct RunnerGpus {
  std::string schema = kGpusSchema;
  std::string runtime, cudnn, nccl;  // versions
  std::vector<GpuSeen> devices;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("runtime", runtime);
    visit("cudnn", cudnn);
    visit("nccl", nccl);
    visit("devices", devices);
  }
};

}  // namespace redraft::golden
