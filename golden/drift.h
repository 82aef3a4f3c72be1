#pragma once
// Four runs of one scenario, old and new code in the old and in the new environment: is it the environment that moves
// the numbers, or the code? A pure function of the records.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "golden/golden.h"

namespace redraft::golden {

inline constexpr const char* kDriftSchema = "redraft.drift/1";

enum class DriftAnswer {
  kNone,         // nothing differs
  kEnvironment,  // the environment moves the numbers, the code does not
  kCode,         // the code does, in every environment alike
  kBoth,         // either does, without the other
  kInteraction,  // one of them does, but only together with the other: a defect that shows in one environment alone
  kUnsteady,     // runs of one cell differ: no difference between cells means anything
  kUnknown,      // too few cells could be run
};

/// A cell of the table.
struct DriftCell {
  std::string code, environment;  // as the user named them
  std::string commit;             // of the program that ran
  std::string missing;            // why there is no record; "": there is
  bool steady = true;             // its runs were equal bit for bit
  std::optional<Record> record;
};

/// What one of the two changes, with the other held.
struct DriftEdge {
  std::string what;             // "the environment, under the old code"
  std::optional<bool> differs;  // nullopt: a cell is missing
  std::optional<std::int64_t> firstStep;
  std::optional<double> loss;      // relative, at that step
  std::optional<double> gradient;  // of the gradient that is furthest off at its first step, relative, about
  std::string bound;  // whether rounding explains it, where a golden says how the numbers answer; "": none does
  std::optional<bool> explained;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("what", what);
    visit("differs", differs);
    visit("first_step", firstStep);
    visit("loss", loss);
    visit("gradient", gradient);
    visit.unless("bound", bound, "");
    visit("explained_by_rounding", explained);
  }
};

/// In this order everywhere: old code in the old environment, old in new, new in old, new in new.
using DriftCells = std::array<DriftCell, 4>;

struct DriftReport {
  DriftAnswer answer = DriftAnswer::kUnknown;
  std::string because;
  std::vector<DriftEdge> edges;  // environment under old and under new code, code in the old and in the new environment
};

/// `means`: of a golden of the scenario, for bounds between environments; nullptr where there is none.
DriftReport assessDrift(const DriftCells& cells, const AcrossMeans* means);

/// The table of cells, the four differences, and the answer.
std::string describe(const DriftCells& cells, const DriftReport& report);

}  // namespace redraft::golden

template <>
struct redraft::NameTable<redraft::golden::DriftAnswer> {
  using Answer = golden::DriftAnswer;
  static constexpr std::pair<Answer, const char*> kNames[] = {
      {Answer::kNone, "NONE"},      {Answer::kEnvironment, "ENVIRONMENT"}, {Answer::kCode, "CODE"},
      {Answer::kBoth, "BOTH"},      {Answer::kInteraction, "INTERACTION"}, {Answer::kUnsteady, "UNSTEADY"},
      {Answer::kUnknown, "UNKNOWN"}};
};
