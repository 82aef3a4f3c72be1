// A bench as people read it.
#include <cmath>

#include "base/files.h"
#include "base/formatted.h"
#include "base/record_file.h"
#include "harness/bench/bench.h"

namespace redraft::harness {
namespace {

using golden::ThroughputVerdict;

std::string ratioText(const BenchRatio& ratio) { return golden::ratioText({ratio.ratio, ratio.low, ratio.high}); }

std::string headline(const BenchReport& report) {
  std::string text = enumName(report.verdict);
  if (report.looks.empty() || !report.looks.back().time) return text + ": " + report.reason + "\n";
  const BenchLook& last = report.looks.back();
  const BenchRatio& time = *last.time;
  const std::string turns = report.options.turn > 0 ? formatted(" by turns of %d steps", report.options.turn) : "";
  text += formatted(": B takes %s times as long as A (%+.2f %%; %s, %g %% confidence, %d pairs of runs%s)",
                    ratioText(time).c_str(), 100 * (time.ratio - 1), report.measure.c_str(),
                    100 * report.options.confidence, last.counted, turns.c_str());
  return text + (report.reason.empty() ? "" : "\n  " + report.reason) + "\n";
}

std::string sideText(const char* letter, const BenchSide& side, const BenchReport& report) {
  std::string text = formatted("  %s  %s", letter, side.name.c_str());
  if (side.name != side.scenario) text += ", " + side.scenario;
  text += " (commit " + side.commit + ")";
  if (report.pairs.empty()) return text + "\n";
  double seconds = 0;
  for (const BenchPair& pair : report.pairs) {
    const golden::BlockPair blocks = blockPairOf(pair, report.options, report.measure == "seconds a token");
    seconds += std::log((letter[0] == 'A' ? blocks.a : blocks.b).seconds) / static_cast<double>(report.pairs.size());
  }
  return text + formatted(": %.4g ms\n", 1e3 * std::exp(seconds));
}

std::string clockLine(const BenchReport& report) {
  if (!report.looks.empty() && report.looks.back().cycles)
    return "  in cycles: " + ratioText(*report.looks.back().cycles) + "\n";
  const bool nvml = report.clock == "NVML";
  return "  not confirmed in cycles: " + (nvml ? std::string("not every block has a GPU clock") : report.clock) + "\n";
}

std::string excludedLines(const BenchReport& report) {
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < report.pairs.size(); ++i) {
    if (report.pairs[i].excluded.empty()) continue;
    constexpr int kShown = 5;
    if (++count <= kShown) text += formatted("    pair %zu: %s\n", i + 1, report.pairs[i].excluded.c_str());
  }
  return count == 0 ? "" : formatted("  left out: %d of %zu pairs\n", count, report.pairs.size()) + text;
}

std::string numbersLine(const BenchReport& report) {
  if (report.a.numbers.empty() || report.b.numbers.empty())
    return "  numbers: not the same from run to run of one side\n";
  return report.a.numbers == report.b.numbers ? "  numbers: the same bit for bit on both sides\n"
                                              : "  numbers: A's and B's differ\n";
}

/// A few steps that are slow do not move a median.
std::string meanLine(const BenchReport& report) {
  if (report.looks.empty() || !report.looks.back().mean) return "";
  const BenchRatio& mean = *report.looks.back().mean;
  const ThroughputVerdict verdict = golden::verdictOf({mean.ratio, mean.low, mean.high}, report.options.margin);
  std::string line = "  by the steps' mean: " + ratioText(mean);
  if (verdict != report.verdict && verdict != ThroughputVerdict::kAmbiguous)
    line += std::string(", which alone would be ") + golden::verdictName(verdict) + ": look at the slowest steps";
  return line + "\n";
}

std::string looksLine(const BenchReport& report) {
  std::string line;
  for (const BenchLook& look : report.looks)
    line += formatted("%s%d pairs %s", line.empty() ? "  looks: " : ", ", look.pairs, enumName(look.verdict));
  return line.empty() ? "" : line + formatted(" (of %d planned)\n", report.planned);
}

}  // namespace

std::string describe(const BenchReport& report) {
  std::string text = headline(report);
  text += sideText("A", report.a, report) + sideText("B", report.b, report);
  if (report.a.program == report.b.program && report.a.scenario == report.b.scenario)
    text += "  A and B are the same program and scenario: any difference is chance\n";
  if (!report.looks.empty())
    text += meanLine(report) + clockLine(report) + excludedLines(report) + numbersLine(report) + looksLine(report);
  return text + formatted("  %.0f s; record: %s\n", report.seconds, joinPath(report.folder, kBenchFile).c_str());
}

BenchReport loadBench(const std::string& path) { return loadRecordFile<BenchReport>(path, kBenchSchema); }

}  // namespace redraft::harness
