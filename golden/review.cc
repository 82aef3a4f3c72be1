#include "golden/review.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/formatted.h"
#include "base/json.h"
#include "base/text.h"
#include "golden/conflict.h"
#include "golden/distance.h"
#include "golden/golden_file.h"

namespace redraft::golden {

namespace {

constexpr std::size_t kMaxGoldenBytes = 64u << 20;

using ValueMap = std::map<std::string, std::string>;

ValueMap mapOf(const std::vector<Value>& values) {
  ValueMap map;
  for (const Value& value : values) map[value.key] = value.text;
  return map;
}

bool reviewed(const std::string& key) { return !key.starts_with("peak_bytes/"); }

std::optional<double> numberIn(const std::string& text) {
  try {
    return fromHexFloat(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

void measure(Change& change) {
  if (!change.before || !change.after) return;
  if (partsOf(change.key).isGradient) {
    const GradientDigest before = parseDigest(*change.before), after = parseDigest(*change.after);
    change.ulp = ulpDistance(before.l2, after.l2);
    change.relative = sketchDistance(before, after);
    return;
  }
  const auto before = numberIn(*change.before), after = numberIn(*change.after);
  if (!before || !after) return;
  change.ulp = ulpDistance(*before, *after);
  change.relative = relativeDistance(*before, *after);
}

/// Keys of both, in the run's order, those that the golden alone has behind.
std::vector<std::string> keysOf(const std::vector<Value>& before, const std::vector<Value>& after) {
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const std::vector<Value>* values : {&after, &before})
    for (const Value& value : *values)
      if (known.insert(value.key).second) keys.push_back(value.key);
  return keys;
}

std::optional<std::string> find(const ValueMap& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

void addChange(std::vector<ChangeSeries>& all, Change change) {
  const std::string series = seriesOf(change.key);
  auto place = std::find_if(all.begin(), all.end(), [&](const ChangeSeries& each) { return each.series == series; });
  if (place == all.end()) place = all.insert(all.end(), {series, {}});
  measure(change);
  place->changes.push_back(std::move(change));
}

void findChanges(Review& review) {
  const std::vector<Value> after = valuesOf(review.run);
  const std::vector<Value> before = review.golden ? valuesOf(review.golden->record) : std::vector<Value>();
  const ValueMap old = mapOf(before), now = mapOf(after),
                 theirs = review.merged ? mapOf(valuesOf(review.merged->golden.record)) : ValueMap();
  for (const std::string& key : keysOf(before, after)) {
    if (!reviewed(key)) continue;
    Change change{key, find(old, key), find(now, key), std::nullopt, std::nullopt, std::nullopt};
    const auto other = find(theirs, key);
    if (review.merged && other != change.before) change.theirs = other.value_or("absent");
    if (change.before != change.after || change.theirs) addChange(review.series, std::move(change));
  }
}

/// One side of a file that a merge has left in two.
Golden sideOf(const MergeConflict& conflict, const std::string& text, const std::string& name,
              const std::string& path) {
  try {
    return parseGolden(text, path + " as " + printable(name) + " has it");
  } catch (const Error& error) {
    throwBadInput(path + ":" + std::to_string(conflict.line),
                  std::string("a merge has left conflicts in it, and one side is no golden: ") + error.message(),
                  "take one side whole (`git checkout --ours FILE`), then review");
  }
}

void loadOld(Review& review, const std::string& root) {
  if (!fileExists(review.file)) return;
  const std::string text = readFile(review.file, kMaxGoldenBytes);
  const auto conflict = findConflict(text);
  if (!conflict) {
    review.golden = findNumerics(root, review.scenario, review.run.numericsClass);
    return;
  }
  review.golden = sideOf(*conflict, conflict->oursText, conflict->ours, review.file);
  review.merged = MergedSide{conflict->ours, conflict->theirs,
                             sideOf(*conflict, conflict->theirsText, conflict->theirs, review.file)};
}

std::string wholeOnly(const Review& review) {
  if (!review.golden) return "there is no golden yet";
  if (review.golden->record.parameters != review.run.parameters) return "its parameters are others";
  return "";
}

/// Their reasons too, where a merge brings two histories together.
void inheritMerged(Golden& next, const Golden& theirs) {
  std::vector<std::string> lines = theirs.history;
  lines.insert(lines.begin(), historyLine(theirs.provenance));
  for (const std::string& line : lines)
    if (std::find(next.history.begin(), next.history.end(), line) == next.history.end()) next.history.push_back(line);
  std::stable_sort(next.history.begin(), next.history.end(), std::greater<>());  // each begins with its date
  if (next.history.size() > kMaxHistory) next.history.resize(kMaxHistory);
}

/// The golden's values with some of the run's in their place, in the run's order.
std::vector<Value> mix(const Review& review, const std::set<std::string>& keys) {
  const std::vector<Value> before = valuesOf(review.golden->record), after = valuesOf(review.run);
  const ValueMap old = mapOf(before), now = mapOf(after);
  std::vector<std::string> all = keysOf(before, after);
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& key) { return partsOf(key).step.value_or(std::int64_t{1} << 40); };
    return rank(a) < rank(b);
  });
  std::vector<Value> values;
  for (const std::string& key : all)
    if (const auto text = find(keys.contains(key) || !reviewed(key) ? now : old, key)) values.push_back({key, *text});
  return values;
}

/// For people: decimals, of a gradient those of its L2 norm; the rest of a digest is for machines.
std::string shortened(const std::optional<std::string>& text, bool isGradient, int digits) {
  if (!text) return "absent";
  if (text->empty()) return "none";
  const auto value = numberIn(isGradient ? text->substr(0, text->find(' ')) : *text);
  if (!value) return printable(*text, 80);
  return (isGradient ? "L2 " : "") + formatted("%.*g", digits, *value);
}

/// In as few digits as tell the sides apart; all, where fewer do not.
std::string sidesOf(const Change& change) {
  const bool isGradient = partsOf(change.key).isGradient;
  const auto sides = [&](int digits) {
    const std::string theirs = change.theirs ? " | " + shortened(change.theirs, isGradient, digits) : "";
    return std::pair(shortened(change.before, isGradient, digits) + theirs,
                     shortened(change.after, isGradient, digits));
  };
  auto [before, after] = sides(7);
  if (before == after && change.ulp.value_or(0) > 0) std::tie(before, after) = sides(17);
  return before + " → " + after;
}

std::string ulpText(std::uint64_t ulp) {
  if (ulp == std::numeric_limits<std::uint64_t>::max()) return "not finite";
  constexpr std::uint64_t kReadable = 1'000'000;
  return (ulp < kReadable ? std::to_string(ulp) : formatted("%.2g", static_cast<double>(ulp))) + " ULP";
}

}  // namespace

const Change& ChangeSeries::furthest() const {
  return *std::max_element(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.relative.value_or(-1) < b.relative.value_or(-1);
  });
}

std::size_t Review::changes() const {
  std::size_t count = 0;
  for (const ChangeSeries& each : series) count += each.changes.size();
  return count;
}

Review reviewOf(const Record& run, const std::string& root, const std::string& scenario) {
  requireComplete(run);
  Review review;
  review.scenario = scenario;
  review.file = numericsPath(root, scenario, run.numericsClass);
  review.run = run;
  loadOld(review, root);
  review.whole = wholeOnly(review);
  findChanges(review);
  return review;
}

Golden accepted(const Review& review, const std::set<std::string>& keys, const Provenance& provenance,
                const AcrossMeans& means) {
  if (keys.empty() && !review.merged) throwBadInput(review.scenario, "nothing is accepted");
  Golden next{review.run, provenance};
  next.record.scenario = review.scenario;
  next.arithmetic = means.arithmetic;
  next.responses = means.responses;
  next.provenance.accepted = keys.size() == review.changes() ? "everything"
                                                             : std::to_string(keys.size()) + " of " +
                                                                   std::to_string(review.changes()) + " changed values";
  if (keys.size() != review.changes()) {
    if (!review.whole.empty())
      throwBadInput(review.scenario, "it cannot be accepted in part: " + review.whole, "accept the scenario");
    try {
      setValues(mix(review, keys), next.record);
    } catch (const BadValue& bad) {
      throwBadInput(review.scenario + ": " + bad.key(), bad.what(), "accept what belongs together, or the scenario");
    }
  }
  if (review.golden) inheritHistory(next, *review.golden);
  if (review.merged) inheritMerged(next, review.merged->golden);
  return next;
}

std::string describe(const Change& change) {
  std::string text = sidesOf(change);
  if (!change.ulp || !change.relative) return text;
  return text + " (" + ulpText(*change.ulp) + ", " + (partsOf(change.key).isGradient ? "about " : "") +
         formatted("%.2g", *change.relative) + " relative)";
}

std::string describe(const ChangeSeries& series) {
  const Change& furthest = series.furthest();
  if (series.changes.size() == 1) return series.changes.front().key + ": " + describe(furthest);
  return series.series + ": " + std::to_string(series.changes.size()) + " steps, the first " +
         std::to_string(partsOf(series.changes.front().key).step.value_or(0)) + ", the furthest " +
         std::to_string(partsOf(furthest.key).step.value_or(0)) + ": " + describe(furthest);
}

}  // namespace redraft::golden
