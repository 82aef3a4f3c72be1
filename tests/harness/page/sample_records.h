#pragma once
// A bench and a divergence, for the tests of their pages. Texts that try to become markup are in both.

#include <cmath>
#include <string>

#include "harness/bench/bench.h"
#include "harness/divergence/divergence.h"

namespace redraft::testing_support {

inline const std::string kMarkup = "</script><script>window.broken=1</script><img src=x onerror=\"window.broken=2\">";

inline harness::BenchBlock sampleBlock(double start, double seconds, double clock) {
  harness::BenchBlock block;
  block.startSeconds = start;
  block.wallSeconds = 8 * seconds + 1;
  block.seconds = {9, 9, seconds, seconds, seconds};  // two of warm-up
  block.tokens = std::vector<double>(5, 4096);
  block.clockMhz = clock;
  block.numbers = "0123456789abcdef";
  return block;
}

/// 32 pairs, B 2.1 % slower; pair 7 is left out.
inline harness::BenchReport sampleBench() {
  harness::BenchReport report;
  report.version = "0.1.0";
  report.commit = "abc";
  report.started = "2026-11-29T20:00:00Z";
  report.folder = "runs/2026-11-29T20-00-00Z-bench";
  report.end = harness::BenchEnd::kDecided;
  report.seconds = 310;
  report.performanceClass = {{"gpu", "NVIDIA H200"}, {"host", kMarkup}};
  report.clock = "NVML";
  report.measure = "seconds a step";
  report.options.warmup = 2;
  report.options.seed = 5;
  report.a = {"build-a", "throughput/gpu", "build-a/bin/redraft-runner", "1111111", "aa", "0123456789abcdef"};
  report.b = {"build-b", "throughput/gpu", "build-b/bin/redraft-runner", "2222222", "bb", "0123456789abcdef"};
  report.planned = 32;
  for (int i = 0; i < 32; ++i) {
    const double start = 9.0 * i, drift = 1 + 0.01 * std::sin(i / 5.0), noise = 0.004 * std::sin(i * 2.7);
    harness::BenchPair pair;
    pair.order = i % 3 == 0 ? "AB" : "BA";
    pair.a = sampleBlock(start, 0.05 * drift, 1980);
    pair.b = sampleBlock(start + 4, 0.05 * drift * (1.021 + noise), 1980 - i % 2);
    if (i == 6) pair.excluded = "B: thermal slowdown " + kMarkup;
    report.pairs.push_back(pair);
  }
  report.first = report.pairs.front();
  const auto look = [](int pairs, golden::ThroughputVerdict verdict, const std::string& reason, double half) {
    harness::BenchLook look{pairs, pairs - 1, 0.002, verdict, reason, {}, {}, {}};
    look.time = {1.021, 1.021 - half, 1.021 + half};
    look.cycles = {1.0208, 1.0208 - half, 1.0208 + half};
    look.mean = {1.0215, 1.0215 - 2 * half, 1.0215 + 2 * half};
    return look;
  };
  report.looks = {look(16, golden::ThroughputVerdict::kAmbiguous, "the interval reaches into the margin", 0.012),
                  look(32, golden::ThroughputVerdict::kSlower, "", 0.004)};
  report.verdict = golden::ThroughputVerdict::kSlower;
  return report;
}

inline harness::DivergenceReport sampleDivergence() {
  harness::DivergenceReport report;
  report.a = {"runs/s/dual-drafter", "run", "1111111", "runs/d/a", std::nullopt, ""};
  report.b = {"runs/s/numerics.wrong-backward", "run", "2222222", "runs/d/b", std::nullopt, ""};
  report.step = 2;
  report.stage = "backward";
  report.parameter = "layers.0.mlp.gate_proj.weight";
  report.furtherRuns = 2;
  report.recorded = {1, 2};
  report.verdict = golden::OpVerdict::kOperation;
  golden::OpRecord op;
  op.step = 2;
  op.role = "drafter[1]";
  op.phase = "backward";
  op.lane = "train";
  op.index = 172;
  op.op = "redraft::silu_mul_backward";
  op.module = "layers.0.mlp";
  op.direction = "backward";
  op.of = "redraft::silu_mul";
  op.inputs = {{"float32 [1, 128, 192]", "4ca3901341e97ad2"}, {"float32 [1, 128, 192]", ""}};
  op.outputs = {{"float32 [1, 128, 192]", "c87765c83f49e462"}, {"float32 [1, 128, 192]", "3fbea9f506f65154"}};
  report.ofA = op;
  op.outputs[0].digest = "4fdbb566076aa37a";
  report.ofB = op;
  report.outputs = {0};
  report.others = {{"drafter[1]", kMarkup, "redraft::silu_mul_backward", 2, 40}};
  report.compared = 2994;
  report.differing = 182;
  report.text = harness::divergenceText(report);
  return report;
}

}  // namespace redraft::testing_support
