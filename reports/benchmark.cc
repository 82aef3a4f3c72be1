// Google Benchmark's JSON, which github-action-benchmark ("googlecpp"), Bencher ("cpp_google") and Google's compare.py
// read. They compare times, less being better: an iteration here is one token.
#include <cmath>

#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr double kNanosPerSecond = 1e9;

/// Only of a run that is right does it matter how fast it was.
bool isMeasured(const CaseResult& result) { return result.verdict == Verdict::kPassed && result.asExpected(); }

Json rowOf(const CaseResult& result, const std::string& role, double rate, std::size_t family, std::size_t index) {
  const std::string name = result.name + (role == "all" ? "" : "/" + role);
  return {{"name", name},
          {"family_index", family},
          {"per_family_instance_index", index},
          {"run_name", name},
          {"run_type", "iteration"},
          {"repetitions", 1},
          {"repetition_index", 0},
          {"threads", 1},
          {"iterations", result.figures.steps},
          {"real_time", kNanosPerSecond / rate},
          {"cpu_time", 0.0},  // not taken
          {"time_unit", "ns"},
          {"items_per_second", rate}};
}

}  // namespace

std::string printBenchmark(const SuiteResult& suite) {
  Json rows = Json::array();
  std::size_t family = 0;
  for (const CaseResult& each : suite.cases) {
    if (!isMeasured(each)) continue;
    std::size_t index = 0;
    for (const auto& [role, rate] : each.figures.tokensPerSecond)
      if (std::isfinite(rate) && rate > 0) rows.push_back(rowOf(each, role, rate, family, index++));
    family += index > 0 ? 1 : 0;
  }
  const Json context = {{"date", suite.started},
                        {"executable", "redraft"},
                        {"caches", Json::array()},  // Bencher refuses a context without
                        {"redraft_version", suite.version},
                        {"redraft_commit", suite.commit}};
  return pretty({{"context", context}, {"benchmarks", rows}});
}

}  // namespace redraft::reports
