#include <algorithm>

#include "base/formatted.h"
#include "golden/across.h"

namespace redraft::golden {

namespace {

std::string number(double value) { return formatted("%.2g", value); }

const char* unitOf(MetricKind kind) {
  if (kind == MetricKind::kUlp) return " ULP";
  return kind == MetricKind::kRelative ? " relative" : "";
}

std::string shareOf(const AcrossSeries& series) { return number(100 * series.used()) + " %"; }

/// Fields that differ; another kind of device counts most, for its rounding is another.
std::size_t remoteness(const NumericsClass& a, const NumericsClass& b) {
  std::size_t count = 0;
  for (const auto& [key, value] : a.fields) {
    const auto other = b.fields.find(key);
    if (other == b.fields.end() || other->second != value) count += key == "device" ? 100 : 1;
  }
  return count;
}

std::string resolutionOf(const AcrossComparison& comparison, const std::string& series) {
  for (const AcrossSeries& each : comparison.series)
    if (each.series == series && each.compared > 0) return number(each.resolution);
  return "";
}

}  // namespace

std::optional<Golden> findNearestClass(const std::string& root, const std::string& scenario, const NumericsClass& key) {
  std::optional<Golden> nearest;
  for (const std::string& file : numericsFiles(root, scenario)) {
    Golden golden = loadGolden(file);
    if (golden.record.scenario != scenario || golden.responses.empty()) continue;
    const auto distance = [&](const Golden& each) { return remoteness(key, each.record.numericsClass); };
    if (!nearest || distance(golden) < distance(*nearest)) nearest = std::move(golden);
  }
  return nearest;
}

std::string summaryOf(const AcrossComparison& comparison) {
  if (comparison.outcome == Outcome::kIncomparable) return "not comparable across classes: " + comparison.reason;
  const std::string weaker = " derived for another class (" + comparison.classes + "), weaker than bit for bit";
  if (comparison.outcome == Outcome::kDifferent)
    return "beyond the bound" + weaker + ", from step " + std::to_string(*comparison.firstBeyond) + " on";
  std::string text = "within the bound" + weaker + ": ";
  if (!comparison.series.empty() && comparison.series.front().used() == 0)
    text += "no number differs";
  else if (!comparison.series.empty())
    text += "at most " + shareOf(comparison.series.front()) + " of it used (" + comparison.series.front().series + ")";
  const std::string loss = resolutionOf(comparison, "loss");
  text += loss.empty() ? "; no loss is held to a bound below itself"
                       : "; a loss that is off by less than " + loss + " would not be seen";
  if (comparison.unresolved() > 0)
    text += "; " + std::to_string(comparison.unresolved()) + " of " +
            std::to_string(comparison.unresolved() + comparison.compared()) +
            " values have a bound as large as they are";
  return text;
}

std::string describe(const AcrossComparison& comparison) {
  std::string text = summaryOf(comparison) + "\n";
  if (comparison.outcome == Outcome::kIncomparable) return text;
  for (const RoundingPart& part : comparison.parts)
    text += "  both classes round as " + number(part.rounding) + " times the measured perturbation " + part.unit + "\n";
  text += "  false alarms at most " + number(comparison.falseAlarms) + "\n";
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < comparison.series.size() && i < kShown; ++i) {
    const AcrossSeries& each = comparison.series[i];
    text += "  " + each.series + " (" + enumName(each.kind) + "): ";
    if (each.compared == 0) {
      text += "no bound below the value itself\n";
      continue;
    }
    text += (each.beyond > 0 ? "BEYOND in " + std::to_string(each.beyond) + " of " : "within in all ") +
            std::to_string(each.compared) + ", most at step " + std::to_string(each.step) + ": " +
            number(each.observed) + " of " + number(each.bound) + unitOf(each.kind) + " (" + shareOf(each) +
            "); sees errors from " + number(each.resolution) + " on";
    text += each.unresolved > 0 ? ", " + std::to_string(each.unresolved) + " not held to any\n" : "\n";
  }
  if (comparison.series.size() > kShown)
    text += "  and " + std::to_string(comparison.series.size() - kShown) + " more that use less\n";
  return text;
}

}  // namespace redraft::golden
