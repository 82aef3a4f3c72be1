#include "golden/drift.h"

#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "golden/across.h"
#include "golden/distance.h"

namespace redraft::golden {

namespace {

enum Cell { kOldOld, kOldNew, kNewOld, kNewNew };

/// Bit for bit, whatever the classes are.
NumericsComparison compareBits(const Record& a, const Record& b) {
  Record same = b;
  same.numericsClass = a.numericsClass;
  return compareNumerics(a, same);
}

std::optional<double> lossDistance(const Record& a, const Record& b, std::int64_t step) {
  const auto lossAt = [step](const Record& record) -> std::optional<double> {
    for (const StepMetrics& each : record.steps)
      if (each.step == step && each.values.contains("loss")) return each.values.at("loss");
    return std::nullopt;
  };
  const auto x = lossAt(a), y = lossAt(b);
  return x && y ? std::optional(relativeDistance(*x, *y)) : std::nullopt;
}

void bindToRounding(const Record& a, const Record& b, const AcrossMeans& means, DriftEdge& edge) {
  Golden expected{a, {}};
  expected.arithmetic = means.arithmetic;
  expected.responses = means.responses;
  const AcrossComparison across = compareAcross(expected, b, *means.arithmetic);
  edge.bound = summaryOf(across);
  if (across.outcome != Outcome::kIncomparable) edge.explained = across.outcome == Outcome::kEqual;
}

DriftEdge edgeOf(const DriftCell& from, const DriftCell& to, std::string what, const AcrossMeans* means) {
  DriftEdge edge;
  edge.what = std::move(what);
  if (!from.record || !to.record) return edge;
  const NumericsComparison bits = compareBits(*from.record, *to.record);
  edge.differs = bits.outcome != Outcome::kEqual;
  edge.firstStep = bits.firstStep;
  if (bits.firstStep) edge.loss = lossDistance(*from.record, *to.record, *bits.firstStep);
  if (!bits.gradients.empty()) edge.gradient = bits.gradients.front().relative;
  if (!bits.reason.empty()) edge.bound = bits.reason;  // other parameters, say
  const bool classes = !(from.record->numericsClass == to.record->numericsClass);
  if (*edge.differs && classes && means != nullptr && means->arithmetic && bits.reason.empty())
    bindToRounding(*from.record, *to.record, *means, edge);
  return edge;
}

struct Effect {
  std::optional<bool> old, now;  // with the other factor as it was, and as it is
  bool any() const { return old.value_or(false) || now.value_or(false); }
  bool known() const { return old || now; }
  /// In one of two and not in the other, both known.
  bool once() const { return old && now && *old != *now; }
};

std::string nameOf(const DriftCells& cells, std::size_t i) {
  const char* const places[] = {"old code in the old environment", "old code in the new environment",
                                "new code in the old environment", "new code in the new environment"};
  return std::string(places[i]) + " (" + cells[i].code + ", " + cells[i].environment + ")";
}

/// Everything but what missing cells hide.
void answer(const Effect& environment, const Effect& code, DriftReport& report) {
  if (!environment.known() || !code.known()) {
    report.answer = DriftAnswer::kUnknown;
    report.because = !environment.known() ? "no two environments could be run with one code"
                                          : "no two codes could be run in one environment";
  } else if (environment.once() || code.once()) {
    report.answer = DriftAnswer::kInteraction;
    report.because =
        code.once()
            ? std::string("the code matters in the ") + (*code.now ? "new" : "old") + " environment alone"
            : std::string("the environment matters to the ") + (*environment.now ? "new" : "old") + " code alone";
  } else if (environment.any() && code.any()) {
    report.answer = DriftAnswer::kBoth;
    report.because =
        "with the environment held the code moves the numbers, and with the code held the environment does";
  } else if (environment.any()) {
    report.answer = DriftAnswer::kEnvironment;
    report.because = "with the environment held, old and new code give the same bits";
  } else if (code.any()) {
    report.answer = DriftAnswer::kCode;
    report.because = "with the code held, both environments give the same bits";
  } else {
    report.answer = DriftAnswer::kNone;
    report.because = "every two cells that were compared are equal bit for bit";
  }
}

std::string lineOf(const DriftEdge& edge) {
  std::string text = "  " + edge.what + ": ";
  if (!edge.differs) return text + "not known\n";
  if (!*edge.differs) return text + "the same bits\n";
  text += "differs";
  if (edge.firstStep) text += " from step " + std::to_string(*edge.firstStep) + " on";
  if (edge.loss) text += ", loss by " + formatted("%.2g", *edge.loss) + " relative there";
  if (edge.gradient) text += ", gradients by up to about " + formatted("%.2g", *edge.gradient);
  return text + "\n" + (edge.bound.empty() ? "" : "    " + edge.bound + "\n");
}

}  // namespace

DriftReport assessDrift(const DriftCells& cells, const AcrossMeans* means) {
  DriftReport report;
  report.edges = {
      edgeOf(cells[kOldOld], cells[kOldNew], "the environment, under the old code", means),
      edgeOf(cells[kNewOld], cells[kNewNew], "the environment, under the new code", means),
      edgeOf(cells[kOldOld], cells[kNewOld], "the code, in the old environment", means),
      edgeOf(cells[kOldNew], cells[kNewNew], "the code, in the new environment", means),
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].steady) continue;
    report.answer = DriftAnswer::kUnsteady;
    report.because = "runs of " + nameOf(cells, i) + " differ from each other";
    return report;
  }
  answer({report.edges[0].differs, report.edges[1].differs}, {report.edges[2].differs, report.edges[3].differs},
         report);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].missing.empty()) report.because += "; " + nameOf(cells, i) + " could not be run";
  return report;
}

std::string describe(const DriftCells& cells, const DriftReport& report) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const DriftCell& cell = cells[i];
    text += "  " + nameOf(cells, i) + ": ";
    if (cell.record)
      text += cell.record->numericsClass.name() + ", " + std::to_string(cell.record->steps.size()) + " steps" +
              (cell.commit.empty() ? "" : ", commit " + cell.commit.substr(0, 12)) +
              (cell.steady ? "" : ", its runs differ") + "\n";
    else
      text += "could not be run: " + cell.missing + "\n";
  }
  for (const DriftEdge& edge : report.edges) text += lineOf(edge);
  return text + enumName(report.answer) + ": " + report.because + "\n";
}

}  // namespace redraft::golden
