// The benchmark format beside what Google Benchmark itself writes.
#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/printers.h"
#include "tests/reports/sample_suite.h"

namespace redraft::reports {
namespace {

Json googlesOwn() {
  benchmark::RegisterBenchmark("probe", [](benchmark::State& state) {
    for (auto each : state) benchmark::DoNotOptimize(each);
    state.SetItemsProcessed(state.iterations());
  })->Iterations(1);
  std::ostringstream out, errors;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&errors);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return Json::parse(out.str());
}

TEST(BenchmarkFormatTest, HasEveryKeyOfARowThatGoogleBenchmarkWritesAndOfItsType) {
  const Json theirs = googlesOwn(), ours = Json::parse(printBenchmark(sampleSuite()));
  ASSERT_EQ(theirs["benchmarks"].size(), 1u);
  ASSERT_EQ(ours["benchmarks"].size(), 1u);
  for (const auto& [key, value] : theirs["benchmarks"][0].items()) {
    ASSERT_TRUE(ours["benchmarks"][0].contains(key)) << key;
    const Json& own = ours["benchmarks"][0][key];
    EXPECT_EQ(value.is_number(), own.is_number()) << key;
    EXPECT_EQ(value.is_string(), own.is_string()) << key;
  }
  EXPECT_EQ(theirs["benchmarks"][0]["time_unit"], ours["benchmarks"][0]["time_unit"]);
  EXPECT_TRUE(ours["context"]["caches"].is_array());
}

}  // namespace
}  // namespace redraft::reports
