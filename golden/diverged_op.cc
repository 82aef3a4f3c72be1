#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "golden/divergence.h"

namespace redraft::golden {

namespace {

constexpr std::size_t kLookAhead = 256;  // operations, for the place where two lanes agree again
constexpr std::size_t kAgree = 3;        // operations in a row that have to
constexpr std::size_t kOthers = 8;

using Lane = std::vector<const OpRecord*>;
using LaneKey = std::tuple<std::int64_t, std::string, std::string>;

/// The same call at the same place; null where the other side has none.
struct Pair {
  const OpRecord* a = nullptr;
  const OpRecord* b = nullptr;
  const OpRecord& any() const { return a != nullptr ? *a : *b; }
};

std::map<LaneKey, Lane> lanesOf(const OpLog& log, std::int64_t first, std::int64_t last) {
  std::map<LaneKey, Lane> lanes;
  for (const OpRecord& op : log.ops)
    if (first <= op.step && op.step <= last) lanes[{op.step, op.role, op.lane}].push_back(&op);
  return lanes;
}

bool sameCall(const OpRecord& a, const OpRecord& b) {
  return a.op == b.op && a.module == b.module && a.direction == b.direction && a.phase == b.phase &&
         a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size();
}

bool agreeFrom(const Lane& a, std::size_t i, const Lane& b, std::size_t j) {
  std::size_t same = 0;
  for (; same < kAgree && i + same < a.size() && j + same < b.size(); ++same)
    if (!sameCall(*a[i + same], *b[j + same])) return false;
  return same > 0;
}

/// How many operations each side skips so that they agree again, as few as possible in all; to the ends where they
/// never do.
std::pair<std::size_t, std::size_t> skips(const Lane& a, std::size_t i, const Lane& b, std::size_t j) {
  for (std::size_t total = 1; total <= kLookAhead; ++total)
    for (std::size_t ofA = 0; ofA <= total; ++ofA)
      if (agreeFrom(a, i + ofA, b, j + total - ofA)) return {ofA, total - ofA};
  return {a.size() - std::min(i, a.size()), b.size() - std::min(j, b.size())};
}

void align(const Lane& a, const Lane& b, std::vector<Pair>& pairs) {
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && sameCall(*a[i], *b[j])) {
      pairs.push_back({a[i++], b[j++]});
      continue;
    }
    const auto [ofA, ofB] = skips(a, i, b, j);
    for (std::size_t k = 0; k < ofA && i < a.size(); ++k) pairs.push_back({a[i++], nullptr});
    for (std::size_t k = 0; k < ofB && j < b.size(); ++k) pairs.push_back({nullptr, b[j++]});
  }
}

/// Place of an operation in the order of a step.
int rankOf(const OpRecord& op) {
  if (op.op == kStateOp) return 0;
  if (op.role.starts_with("target")) return 1;
  if (op.lane == "hand_off") return 2;
  if (op.lane == "all_reduce") return 4;
  return op.phase == "optimizer" ? 5 : 3;
}

bool before(const Pair& x, const Pair& y) {
  const OpRecord &p = x.any(), &q = y.any();
  return std::make_tuple(p.step, rankOf(p), p.index, p.role) < std::make_tuple(q.step, rankOf(q), q.index, q.role);
}

/// A digest that was not taken says nothing.
bool differ(const TensorMark& a, const TensorMark& b) {
  return a.type != b.type || (a.digest != b.digest && !a.digest.empty() && !b.digest.empty());
}

std::vector<std::size_t> differing(const std::vector<TensorMark>& a, const std::vector<TensorMark>& b) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (differ(a[i], b[i])) places.push_back(i);
  return places;
}

OpVerdict verdictOf(const Pair& pair) {
  if (pair.a == nullptr || pair.b == nullptr) return OpVerdict::kOtherOperations;
  if (differing(pair.a->outputs, pair.b->outputs).empty()) return OpVerdict::kEqual;
  if (pair.a->op == kStateOp || !differing(pair.a->inputs, pair.b->inputs).empty()) return OpVerdict::kInputs;
  return pair.a->scalars != pair.b->scalars ? OpVerdict::kScalars : OpVerdict::kOperation;
}

/// The operation to name. One that only one side calls is named where nothing before it differs and what comes behind
/// it does without a cause of its own.
std::size_t chosen(const std::vector<OpVerdict>& verdicts) {
  const auto first = [&](OpVerdict wanted) {
    return static_cast<std::size_t>(std::find(verdicts.begin(), verdicts.end(), wanted) - verdicts.begin());
  };
  const std::size_t own = std::min(first(OpVerdict::kOperation), first(OpVerdict::kScalars)),
                    inputs = first(OpVerdict::kInputs), other = first(OpVerdict::kOtherOperations);
  // Inputs that differ before any operation does come from outside, or from operations that one side has alone.
  if (inputs < own) return other < inputs ? other : inputs;
  return own < verdicts.size() ? own : other;
}

}  // namespace

OpDivergence divergedOp(const OpLog& a, const OpLog& b) {
  const std::int64_t from = std::max(a.header.first, b.header.first), to = std::min(a.header.last, b.header.last);
  std::map<LaneKey, Lane> ofA = lanesOf(a, from, to), ofB = lanesOf(b, from, to);
  std::vector<Pair> pairs;
  for (auto& [key, lane] : ofA) align(lane, ofB[key], pairs);
  for (auto& [key, lane] : ofB)
    if (!ofA.contains(key)) align({}, lane, pairs);
  std::stable_sort(pairs.begin(), pairs.end(), before);

  OpDivergence found;
  std::vector<OpVerdict> verdicts;
  for (const Pair& pair : pairs) {
    verdicts.push_back(verdictOf(pair));
    const bool unmatched = verdicts.back() == OpVerdict::kOtherOperations;
    found.unmatched += unmatched ? 1 : 0;
    found.compared += unmatched ? 0 : 1;
    found.differing += unmatched || verdicts.back() == OpVerdict::kEqual ? 0 : 1;
  }
  const std::size_t at = chosen(verdicts);
  if (at >= pairs.size()) return found;
  found.verdict = verdicts[at];
  if (pairs[at].a != nullptr) found.a = *pairs[at].a;
  if (pairs[at].b != nullptr) found.b = *pairs[at].b;
  // What one side calls in the other's place.
  if (found.verdict == OpVerdict::kOtherOperations && at + 1 < pairs.size() && !found.b && pairs[at + 1].a == nullptr)
    found.b = *pairs[at + 1].b;
  if (found.a && found.b) {
    found.inputs = differing(found.a->inputs, found.b->inputs);
    found.outputs = differing(found.a->outputs, found.b->outputs);
  }
  for (std::size_t i = at + 1; i < pairs.size() && found.others.size() < kOthers; ++i) {
    if (verdicts[i] != OpVerdict::kOperation) continue;
    const OpRecord& op = pairs[i].any();
    found.others.push_back({op.role, op.module, op.op, op.step, op.index});
  }
  return found;
}

}  // namespace redraft::golden
