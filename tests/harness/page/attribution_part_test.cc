// The page's part on where time went.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/page/parts.h"
#include "tests/harness/timing/timed_trace.h"

namespace redraft::harness {
namespace {

using testing_support::Launch;
using testing_support::TimedTrace;

constexpr const char* kLong =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "
    "1ul>>(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)";

/// Six steps of 100 µs on two devices: a kernel of `micros`, and 24 short ones.
TimedTrace stepsOf(int micros) {
  TimedTrace built;
  for (int step = 0; step < 6; ++step) {
    for (int device = 0; device < 2; ++device) {
      const std::int64_t begin = 100'000 * step;
      Launch launch{.name = kLong, .calledAt = begin, .begin = begin + 1000, .end = begin + 1000 + 1000 * micros};
      launch.step = step;
      launch.device = device;
      launch.role = "drafter[" + std::to_string(device) + "]";
      built.launch(launch);
      for (int i = 0; i < 24; ++i) {
        launch.name = "short" + std::string(static_cast<std::size_t>(i) + 1, 'x');
        launch.calledAt = begin + 60'000 + 1000 * i;
        launch.begin = launch.calledAt + 100;
        launch.end = launch.begin + 300;
        built.launch(launch);
      }
    }
  }
  return built;
}

double sumOf(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

template <class Lines>
double nsOf(const Lines& lines) {
  double sum = 0;
  for (const auto& line : lines) sum += line.ns;
  return sum;
}

TEST(AttributionPartTest, PartsAndLinesAddUpToTheStep) {
  PageLimits limits;
  limits.lines = 5;
  const reports::Attribution view = attributionOf(splitTime(stepsOf(30).trace), std::nullopt, limits);
  ASSERT_EQ(view.devices.size(), 2u);
  EXPECT_EQ(view.steps, "1–4");
  EXPECT_EQ(view.leftOut, "0, 5");
  for (const reports::DeviceTime& device : view.devices) {
    EXPECT_DOUBLE_EQ(device.wallNs, 100'000);
    EXPECT_EQ(device.parts.size(), view.parts.size());
    EXPECT_NEAR(sumOf(device.parts), device.wallNs, 1e-6);
    EXPECT_EQ(device.lines.size(), 5u);
    EXPECT_GT(device.others, 0);
    EXPECT_NEAR(nsOf(device.lines) + device.otherNs, device.wallNs, 1e-6);
    EXPECT_FALSE(device.before.has_value());
  }
  EXPECT_EQ(view.devices[1].title, "device 1");
  EXPECT_EQ(view.devices[1].roles, std::vector<std::string>{"drafter[1]"});
}

TEST(AttributionPartTest, AShortenedNameBringsTheWholeOne) {
  const reports::Attribution view = attributionOf(splitTime(stepsOf(30).trace), std::nullopt, {});
  const auto& lines = view.devices[0].lines;
  const auto line = std::find_if(lines.begin(), lines.end(), [](const auto& each) { return !each.whole.empty(); });
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(line->whole, kLong);
  EXPECT_TRUE(line->name.starts_with("vectorized_elementwise_kernel<4, ")) << line->name;
  EXPECT_DOUBLE_EQ(line->count, 1);
  EXPECT_DOUBLE_EQ(line->busyNs, 30'000);
}

TEST(AttributionPartTest, ChangesAndResidualAddUpToTheChangeOfTheStep) {
  const TimeReference reference{"before", splitTime(stepsOf(30).trace)};
  const reports::Attribution view = attributionOf(splitTime(stepsOf(45).trace), reference, {});
  EXPECT_EQ(view.reference, "before");
  for (const reports::DeviceTime& device : view.devices) {
    ASSERT_TRUE(device.before.has_value());
    EXPECT_NEAR(sumOf(device.before->parts), device.before->wallNs, 1e-6);
    EXPECT_NEAR(nsOf(device.before->changes) + device.before->moreNs + device.before->residualNs,
                device.wallNs - device.before->wallNs, 1e-6);
    ASSERT_FALSE(device.before->changes.empty());
    EXPECT_DOUBLE_EQ(std::abs(device.before->changes[0].ns), 15'000);
  }
}

TEST(AttributionPartTest, AReferenceThatIsMissingIsANoteAndTheSplitIsShown) {
  std::vector<RankTrace> traces;
  traces.push_back({0, stepsOf(30).trace, std::nullopt});
  reports::CaseDetails details;
  addAttribution(traces, PageReference{"older", {"/nowhere/trace"}}, {}, details);
  ASSERT_TRUE(details.attribution.has_value());
  EXPECT_TRUE(details.attribution->reference.empty());
  EXPECT_NE(details.attribution->notes.back().find("/nowhere/trace"), std::string::npos);
  EXPECT_EQ(details.attribution->devices.size(), 2u);
}

TEST(AttributionPartTest, ATraceWithoutWorkIsANotice) {
  std::vector<RankTrace> traces;
  traces.push_back({0, TimedTrace().trace, std::nullopt});
  reports::CaseDetails details;
  addAttribution(traces, std::nullopt, {}, details);
  EXPECT_FALSE(details.attribution.has_value());
  EXPECT_TRUE(details.notices.contains(reports::part::kAttribution));
}

}  // namespace
}  // namespace redraft::harness
