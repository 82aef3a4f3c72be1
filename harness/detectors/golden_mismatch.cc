#include "base/text.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

namespace {

Findings beyondBounds(const golden::AcrossComparison& across) {
  if (across.outcome != golden::Outcome::kDifferent) return {};
  reports::Finding finding;
  finding.id = "numerics/beyond-bound";
  finding.step = across.firstBeyond.value_or(-1);
  finding.title = "the numbers leave what rounding in another class explains at step " + std::to_string(finding.step);
  for (const std::string& line : split(golden::describe(across), '\n'))
    if (!line.empty()) finding.details.push_back(line);
  finding.signature = signature(finding, "difference", 0);
  return {finding};
}

}  // namespace

Findings detectGoldenMismatch(const Evidence& evidence, const Findings&) {
  if (evidence.across) return beyondBounds(*evidence.across);
  if (!evidence.comparison || evidence.comparison->outcome != golden::Outcome::kDifferent) return {};
  reports::Finding finding;
  finding.id = "numerics/golden-mismatch";
  finding.step = evidence.comparison->firstStep.value_or(-1);
  finding.title = finding.step >= 0 ? "the numbers leave the golden at step " + std::to_string(finding.step)
                                    : "the numbers leave the golden";
  for (const std::string& line : split(golden::describe(*evidence.comparison), '\n'))
    if (!line.empty()) finding.details.push_back(line);
  finding.signature = signature(finding, "difference", 0);
  return {finding};
}

}  // namespace redraft::harness
