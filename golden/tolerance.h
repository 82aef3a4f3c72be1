#pragma once
// By how much two numerics classes may differ: derived from what their arithmetic is and from how this very training
// answers to a perturbation of one unit in the last place. The derivation: docs/goldens.md, "Tolerance". Nothing here
// is a tolerance that somebody chose.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/record.h"
#include "golden/record.h"

namespace redraft::golden {

/// How a metric is compared across classes. Within a class every one is compared bit for bit.
enum class MetricKind {
  kExact,        // nothing that differs between classes goes into it
  kUlp,          // a bound in units in the last place of float32
  kRelative,     // a bound of ‖Δ‖ / ‖g‖
  kStatistical,  // a mean of decisions, each of which may turn over
  kBits,         // has no distance: compared within a class alone
};

struct MetricRule {
  MetricKind kind = MetricKind::kBits;
  std::string reason;
  bool operator==(const MetricRule&) const = default;
};

/// "loss" → rule; "gradient" and "gradient_norm" stand for those of every parameter. What a golden without rules of its
/// own is compared by.
const std::map<std::string, MetricRule>& defaultRules();

/// What of a scenario decides how far its rounding goes.
struct Arithmetic {
  std::int64_t reductionLength = 0;    // terms of the longest sum
  std::int64_t bfloat16Roundings = 0;  // a layer and step, where all is computed in bfloat16; 0: it is not
  std::int64_t predictions = 0;        // slots that accuracy counts in a step, at most
  std::int64_t blocks = 0;             // that prefix_acceptance averages, at most
  std::int64_t blockSize = 0;
  // To bfloat16, at each tensor that attention reads or makes, forward and backward; 0: it computes as all else does.
  std::int64_t attentionRoundings = 0;
  bool operator==(const Arithmetic&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("reduction_length", reductionLength);
    visit("bfloat16_roundings", bfloat16Roundings);
    visit("predictions", predictions);
    visit("blocks", blocks);
    visit("block_size", blockSize);
    visit.unless("attention_roundings", attentionRoundings, 0);
  }
};

/// By how much the numbers of a run move, in a root mean square over `seeds` perturbed runs. In `series`, by metric and
/// step: "loss", "grad_norm" (of the value), "gradient/NAME" (norm of the gradient's change, from the sketches),
/// "gradient_norm/NAME" (of its L2 norm). NaN in steps without digests.
struct Response {
  int seeds = 0;
  std::string commit;  // that they were run with
  std::map<std::string, std::vector<double>> series;
};

constexpr int kFewestSeeds = 3;

/// What was moved: every parameter by one ULP of float32 before the first step; likewise of bfloat16; or, in every
/// step, what attention reads and makes, by two unit roundoffs of bfloat16.
inline constexpr const char* kFloat32Unit = "float32";
inline constexpr const char* kBfloat16Unit = "bfloat16";
inline constexpr const char* kAttentionUnit = "attention";

/// By unit.
using Responses = std::map<std::string, Response>;

/// Throws Error(kBadInput) for fewer than kFewestSeeds, or runs that are not of one training and class.
Response measureResponse(const Record& base, const std::vector<Record>& perturbed, const std::string& commit);

/// How far a step's rounding in this class moves what `unit` moves: in units of that move, as if it were independent.
double roundingOf(const Arithmetic& arithmetic, const std::string& unit);

/// The units whose responses together hold the rounding of both.
std::vector<std::string> unitsOf(const Arithmetic& a, const Arithmetic& b);

}  // namespace redraft::golden

template <>
struct redraft::NameTable<redraft::golden::MetricKind> {
  using Kind = golden::MetricKind;
  static constexpr std::pair<Kind, const char*> kNames[] = {{Kind::kExact, "exact"},
                                                            {Kind::kUlp, "ulp"},
                                                            {Kind::kRelative, "relative"},
                                                            {Kind::kStatistical, "statistical"},
                                                            {Kind::kBits, "bits"}};
};
