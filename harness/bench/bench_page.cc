// A bench as a page.
#include <algorithm>
#include <limits>

#include "harness/bench/bench.h"
#include "reports/html/page.h"
#include "reports/html/single_page.h"

namespace redraft::harness {
namespace {

constexpr int kTimeDigits = 7, kClockDigits = 6;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A pair as the page draws it: what the statistics took of it.
struct PairView {
  std::string order, excluded;
  double startSeconds = 0;        // of its first block, since the bench began
  double a = 0, b = 0;            // the block's median, in seconds of the bench's measure
  double ratio = 1;               // B over A, as it counts
  double clockA = 0, clockB = 0;  // MHz; NaN: not known
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("order", order);
    visit.unless("excluded", excluded, "");
    visit("start_seconds", startSeconds);
    visit("a", a);
    visit("b", b);
    visit("ratio", ratio);
    visit("clock_a", clockA);
    visit("clock_b", clockB);
  }
};

PairView viewOf(const BenchPair& pair, const BenchReport& report) {
  const golden::BlockPair blocks = blockPairOf(pair, report.options, report.measure == "seconds a token");
  return {pair.order,
          pair.excluded,
          reports::rounded(std::min(pair.a.startSeconds, pair.b.startSeconds), kTimeDigits),
          reports::rounded(blocks.a.seconds, kTimeDigits),
          reports::rounded(blocks.b.seconds, kTimeDigits),
          reports::rounded(golden::timeRatio(blocks), kTimeDigits),
          reports::rounded(blocks.a.clockMhz.value_or(kNone), kClockDigits),
          reports::rounded(blocks.b.clockMhz.value_or(kNone), kClockDigits)};
}

}  // namespace

std::string benchPage(const BenchReport& report) {
  BenchReport head = report;  // samples stay in the record
  head.pairs.clear();
  head.first.reset();
  Json pairs = Json::array();
  for (const BenchPair& pair : report.pairs) pairs.push_back(recordToJson(viewOf(pair, report)));
  const std::string title = std::string(enumName(report.verdict)) + ", " + report.a.name + " and " + report.b.name;
  Json data{{"record", recordToJson(head)}, {"pairs", std::move(pairs)}};
  return reports::printSinglePage({reports::single::kBench, title, describe(report), std::move(data)});
}

}  // namespace redraft::harness
