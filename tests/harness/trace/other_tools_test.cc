// Our Kineto files in the hands of other tools. Each test is a named skip where its tool is not.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <tuple>

#include "base/files.h"
#include "harness/trace/kineto_writer.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/paths.h"
#include "tests/support/command_output.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {
namespace {

using testing_support::CommandOutput;
using testing_support::outputOf;
using testing_support::pythonWith;
using testing_support::TempFolder;
using testing_support::TraceBuilder;

/// Three kernels a step on each of two devices, for two steps; times with nanoseconds.
Trace twoDevicesOfKernels() {
  TraceBuilder built;
  for (const int step : {3, 4}) {
    for (const int device : {0, 1}) {
      for (const char* name : {"void gemm<float, 2>(int)", "softmax", "softmax"}) {
        TraceRecord& kernel = built.work(RecordKind::kKernel, name, "drafter", device);
        kernel.durationNs = 1000 * (device + 1) + step + 1;
        kernel.step = built.trace.records[built.trace.records.size() - 2].step = step;
        built.now += 10'000;
      }
      // Loading code while a call waits: no second call, whose kernel would count twice.
      TraceRecord& loading = built.add(RecordKind::kOverhead, "Lazy Function Loading");
      loading.correlation = built.correlation;
      loading.device = device;
    }
  }
  return built.trace;
}

using Totals = std::map<std::pair<std::int64_t, std::string>, std::pair<std::int64_t, std::int64_t>>;

/// Count and nanoseconds of each kernel on each device.
Totals ownTotals(const Trace& trace) {
  Totals totals;
  for (const TraceRecord& record : trace.records) {
    if (record.kind != RecordKind::kKernel) continue;
    auto& [count, nanos] = totals[{record.device, trace.text(record.name)}];
    ++count;
    nanos += record.durationNs;
  }
  return totals;
}

std::string environmentOr(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

TEST(OtherToolsTest, HtaSumsKernelsAsWeDo) {
  const std::string python = pythonWith("hta", "REDRAFT_HTA_PYTHON");
  if (python.empty())
    GTEST_SKIP() << "HolisticTraceAnalysis is not installed; REDRAFT_HTA_PYTHON names a python that has it";
  const TempFolder folder;
  const Trace trace = twoDevicesOfKernels();
  writeKinetoFiles(trace, folder.path());
  const CommandOutput hta =
      outputOf(python + " " + kSourceFolder + "/tests/harness/trace/hta_totals.py " + folder.path());
  ASSERT_EQ(hta.status, 0) << hta.text;
  Totals totals;
  std::istringstream lines(hta.text);
  for (std::string line; std::getline(lines, line);) {
    std::int64_t rank = 0, count = 0, nanos = 0;
    int nameAt = 0;
    if (std::sscanf(line.c_str(), "%ld\t%ld\t%ld\t%n", &rank, &count, &nanos, &nameAt) == 3 && nameAt > 0)
      totals[{rank, line.substr(static_cast<std::size_t>(nameAt))}] = {count, nanos};
  }
  EXPECT_EQ(totals, ownTotals(trace)) << hta.text;
}

TEST(OtherToolsTest, PerfettoSumsKernelsAsWeDo) {
  const std::string processor = environmentOr("REDRAFT_TRACE_PROCESSOR", "");
  if (processor.empty()) GTEST_SKIP() << "REDRAFT_TRACE_PROCESSOR names no trace_processor_shell";
  const TempFolder folder;
  const Trace trace = twoDevicesOfKernels();
  const std::vector<std::string> files = writeKinetoFiles(trace, folder.path());
  writeFileAtomically(folder.file("query.sql"),
                      "select count(*) || ' ' || sum(dur) as totals from slice where category = 'kernel';\n");
  std::int64_t device = 0;
  for (const std::string& file : files) {
    std::int64_t count = 0, nanos = 0;
    for (const auto& [key, total] : ownTotals(trace)) {
      if (key.first != device) continue;
      count += total.first;
      nanos += total.second;
    }
    const CommandOutput perfetto = outputOf(processor + " -q " + folder.file("query.sql") + " " + file);
    EXPECT_EQ(perfetto.status, 0) << perfetto.text;
    EXPECT_NE(perfetto.text.find(std::to_string(count) + " " + std::to_string(nanos)), std::string::npos)
        << perfetto.text;
    ++device;
  }
}

}  // namespace
}  // namespace redraft::harness
