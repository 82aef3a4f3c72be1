#pragma once
// Where two runs part: the first step from what any run stores, the first operation from op digests. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/compare.h"
#include "golden/op_log.h"
#include "golden/record.h"

namespace redraft::golden {

/// What stored records tell of the first difference.
struct StepDivergence {
  NumericsComparison comparison;
  std::optional<std::int64_t> step;  // the first that differs; nullopt: none, or not comparable
  /// The last step after which the parameters are known to be equal; -1: none (the first step's may differ already).
  std::int64_t lastEqual = -1;
  /// What differs first within the step, in the order of training: "forward" (the loss, with parameters that may be
  /// equal), "backward" (gradients alone), "update" (parameters alone), "evaluation".
  std::string stage;
};
StepDivergence divergedStep(const Record& a, const Record& b);

/// Whether `again`, cut short as it may be, holds the numbers of `before` up to and with step `last`; where not, the
/// first step that differs.
std::optional<std::int64_t> firstUnlike(const Record& before, const Record& again, std::int64_t last);

enum class OpVerdict : std::uint8_t {
  kEqual,            // nothing that was compared differs
  kOperation,        // equal inputs, another result: this operation
  kScalars,          // equal tensors, but another number among its arguments
  kInputs,           // its inputs differ already, and no operation that was recorded made them differ
  kOtherOperations,  // the two runs do not call the same operations here
};

struct OpPlace {
  std::string role, module, op;
  std::int64_t step = 0, index = 0;
  bool operator==(const OpPlace&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("role", role);
    visit("module", module);
    visit("op", op);
    visit("step", step);
    visit("index", index);
  }
};

struct OpDivergence {
  OpVerdict verdict = OpVerdict::kEqual;
  std::optional<OpRecord> a, b;              // the operation on both sides; one only where the other has none
  std::vector<std::size_t> inputs, outputs;  // those that differ
  std::vector<OpPlace> others;               // further operations with equal inputs and another result, at most 8
  std::int64_t compared = 0, differing = 0;  // operations
  std::int64_t unmatched = 0;                // that one side has alone
};

/// Steps that both logs have. The order is that of training: parameters at the beginning of a step, targets, copies to
/// drafters, forward and backward, exchange of gradients, optimiser; within, each role's own.
OpDivergence divergedOp(const OpLog& a, const OpLog& b);

}  // namespace redraft::golden

namespace redraft {
template <>
struct NameTable<golden::OpVerdict> {
  static constexpr std::pair<golden::OpVerdict, const char*> kNames[] = {
      {golden::OpVerdict::kEqual, "equal"},
      {golden::OpVerdict::kOperation, "operation"},
      {golden::OpVerdict::kScalars, "scalars"},
      {golden::OpVerdict::kInputs, "inputs"},
      {golden::OpVerdict::kOtherOperations, "other-operations"},
  };
};
}  // namespace redraft
