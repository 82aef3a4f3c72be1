#pragma once
// What a run left that can be compared: losses and metrics a step, gradient digests, memory peaks, throughput samples.
// Read from a run folder or from a golden; both are the same structure, so any two can be compared. Formats:
// docs/formats.md.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redraft::golden {

/// Key of the numbers. Two runs of one class must be equal bit for bit; runs of two classes are not compared.
struct NumericsClass {
  /// CPU: isa, libtorch, threads, mkl, onednn, kernels, device. GPU: isa, multiprocessors, driver, runtime, cublas,
  /// cudnn, libtorch, kernels, device.
  std::map<std::string, std::string> fields;

  /// File name: "cpu-avx2-torch2.11.0-t1-k1-1a2b3c4d", the last part a hash of all fields; on a GPU without the "t1".
  std::string name() const;
  bool operator==(const NumericsClass&) const = default;
};

/// Key of the times: the machine.
struct PerformanceClass {
  std::map<std::string, std::string> fields;  // cpu, cores, memory_gib; or gpu, gpus

  std::string name() const;
  bool operator==(const PerformanceClass&) const = default;
};

/// Metric name → value, for one optimiser step. All values are compared exactly.
struct StepMetrics {
  std::int64_t step = 0;
  std::map<std::string, double> values;  // loss, accuracy, prefix_acceptance, grad_norm, learning_rate, tokens
  std::string parametersHash;            // "" in a step that did not compare the replicas
  bool keptDigests = true;               // of its gradients
};

constexpr int kSketchSize = 16;

struct GradientDigest {
  double l2 = 0;
  double max = 0;
  std::string hash;  // 32 hex digits, of the bytes
  std::array<float, kSketchSize> sketch{};
};

struct Evaluation {
  std::vector<std::int64_t> acceptLengths;
  double meanAcceptLength = 0;
  std::string textHash;
};

struct RoleSamples {
  std::vector<double> tokensPerSecond;  // one a step
};

/// How long a drafter's stream waited, as a part of each step.
struct WaitShares {
  std::vector<double> features, gradients;
};

struct Record {
  std::string scenario;
  std::string origin;  // path, for messages
  NumericsClass numericsClass;
  std::optional<PerformanceClass> performanceClass;
  std::vector<StepMetrics> steps;
  std::vector<std::string> parameters;
  std::vector<std::vector<GradientDigest>> gradients;  // [step][parameter]; a step that kept none has no parameter
  std::optional<Evaluation> evaluation;
  std::map<int, std::int64_t> peakBytes;       // device → bytes
  std::map<std::string, RoleSamples> samples;  // role, and "all"
  std::vector<double> stepSeconds;             // of a run
  std::map<std::string, WaitShares> waits;     // of a run: by drafter
};

/// What metrics.jsonl says alone: for a run that was cut short, which left nothing else. Throws Error(kBadInput).
Record loadMetrics(const std::string& folder);

/// Throws Error(kBadInput) when metrics or digests are missing, torn, of another version, or contradict each other.
Record loadRun(const std::string& folder);

}  // namespace redraft::golden
