// A divergence as a page, and its record.
#include "base/text.h"
#include "harness/divergence/divergence.h"
#include "reports/html/single_page.h"

namespace redraft::harness {

DivergenceReport loadDivergence(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  auto report = recordFromJson<DivergenceReport>(document.root(), path);
  if (report.schema != kDivergenceSchema)
    throwBadInput(path, "the schema \"" + printable(report.schema) + "\" is not known",
                  std::string("expected ") + kDivergenceSchema);
  return report;
}

std::string divergencePage(const DivergenceReport& report) {
  const std::string title = report.same   ? "no divergence"
                            : report.step ? "runs part in step " + std::to_string(*report.step)
                                          : "not comparable";
  return reports::printSinglePage(
      {reports::single::kDivergence, title, join(report.text, "\n") + "\n", recordToJson(report)});
}

}  // namespace redraft::harness
