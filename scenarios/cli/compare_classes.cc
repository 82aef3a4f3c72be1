#include "scenarios/cli/compare_classes.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "scenarios/cli/arithmetic.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

/// Of a golden of before goldens kept it: as its scenario says now.
std::optional<golden::Arithmetic> arithmeticNow(const golden::Golden& golden, const Places& places) {
  try {
    Scenario scenario = findScenario(places.loadScenarios(), golden.record.scenario).scenario;
    const auto device = golden.record.numericsClass.fields.find("device");
    if (device != golden.record.numericsClass.fields.end()) scenario.backend = device->second;
    return arithmeticOf(scenario, "");
  } catch (const Error&) {
    return std::nullopt;  // no such scenario here
  }
}

golden::Golden sideOf(const std::string& path, const Places& places) {
  if (!std::filesystem::is_directory(path)) {
    golden::Golden golden = golden::loadGolden(path);
    if (!golden.arithmetic) golden.arithmetic = arithmeticNow(golden, places);
    return golden;
  }
  golden::Golden run{golden::loadRecord(path), {}};
  run.arithmetic = arithmeticOf(scenarioOfRun(path), path);
  return run;
}

}  // namespace

std::optional<golden::AcrossComparison> compareClasses(const std::string& a, const std::string& b,
                                                       const Places& places) {
  golden::Golden first = sideOf(a, places), second = sideOf(b, places);
  if (first.responses.empty()) std::swap(first, second);
  if (first.responses.empty()) return std::nullopt;
  if (second.arithmetic) return golden::compareAcross(first, second.record, *second.arithmetic);
  golden::AcrossComparison none;
  none.reason = second.record.origin + " does not say how long its sums are, and no scenario here does";
  return none;
}

}  // namespace redraft::scenarios
