// Curves, gradients, throughput and environment: what a run's record and its golden say.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "golden/distance.h"
#include "golden/run_files.h"
#include "harness/page/parts.h"
#include "harness/run_folder.h"

namespace redraft::harness {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kValueDigits = 9, kMapDigits = 4, kRateDigits = 6;

double valueOf(const golden::Record& record, std::size_t step, const std::string& metric) {
  if (step >= record.steps.size()) return kNone;
  const auto found = record.steps[step].values.find(metric);
  return found == record.steps[step].values.end() ? kNone : found->second;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<std::string> metricsOf(const golden::Record& run) {
  std::vector<std::string> names;
  for (const auto& [name, value] : run.steps.front().values) names.push_back(name);
  return names;
}

/// The first step, of those that the run has, at which a metric is not the golden's.
std::optional<std::int64_t> firstDifferent(const golden::Record& run, const golden::Record& golden,
                                           const std::vector<std::string>& metrics) {
  for (std::size_t i = 0; i < run.steps.size(); ++i)
    for (const std::string& metric : metrics)
      if (!same(valueOf(run, i, metric), valueOf(golden, i, metric))) return run.steps[i].step;
  return std::nullopt;
}

std::string leftOut(std::size_t shown, std::size_t all, const std::string& what) {
  return shown == all ? "" : "Shown: " + std::to_string(shown) + " of " + std::to_string(all) + " " + what + ".";
}

/// 0 when the bytes are equal, whatever they are.
double distance(const golden::GradientDigest& golden, const golden::GradientDigest& run) {
  return golden.hash == run.hash ? 0 : golden::sketchDistance(golden, run);
}

/// Steps of the run with digests, and where a golden is given, with digests in it too.
std::vector<std::size_t> stepsWithGradients(const golden::Record& run, const golden::Record* golden) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < run.gradients.size(); ++i) {
    const bool both = golden == nullptr || (i < golden->gradients.size() && !golden->gradients[i].empty());
    if (!run.gradients[i].empty() && both) steps.push_back(i);
  }
  return steps;
}

/// For an order: the largest of a row, where nothing stands for less than anything.
double largest(const std::vector<double>& row) {
  double most = -1;
  for (const double value : row) most = std::max(most, std::isfinite(value) ? value : HUGE_VAL);
  return most;
}

struct MapRow {
  std::string parameter;
  std::vector<double> values;  // one a step
};

/// A row a parameter, the largest first; equal ones in the model's order.
template <class Value>
std::vector<MapRow> mapRows(const golden::Record& run, const std::vector<std::size_t>& steps, Value value) {
  std::vector<MapRow> rows;
  for (std::size_t p = 0; p < run.parameters.size(); ++p) {
    MapRow& row = rows.emplace_back(MapRow{run.parameters[p], {}});
    for (const std::size_t step : steps) row.values.push_back(reports::rounded(value(step, p), kMapDigits));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MapRow& a, const MapRow& b) { return largest(a.values) > largest(b.values); });
  return rows;
}

void addClass(const std::string& group, const std::map<std::string, std::string>& run,
              const std::map<std::string, std::string>* golden, std::vector<reports::EnvironmentRow>& rows) {
  std::set<std::string> keys;
  for (const auto& [key, value] : run) keys.insert(key);
  if (golden != nullptr)
    for (const auto& [key, value] : *golden) keys.insert(key);
  const auto text = [](const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  for (const std::string& key : keys)
    rows.push_back({group, key, text(run, key), golden == nullptr ? std::nullopt : std::optional(text(*golden, key))});
}

std::vector<double> samplesOf(const std::vector<double>& values, std::size_t most, int digits) {
  std::vector<double> kept;
  for (const std::size_t i : evenlySpread(values.size(), most)) kept.push_back(reports::rounded(values[i], digits));
  return kept;
}

}  // namespace

std::vector<std::size_t> evenlySpread(std::size_t count, std::size_t kept) {
  std::vector<std::size_t> places;
  if (kept == 0) return places;
  const std::size_t wanted = std::min(count, kept);
  for (std::size_t i = 0; i < wanted; ++i)
    places.push_back(count <= kept || wanted == 1 ? i : i * (count - 1) / (wanted - 1));
  return places;
}

reports::Curves curvesOf(const golden::Record& run, const PageGolden& golden, const PageLimits& limits) {
  reports::Curves curves;
  if (run.steps.empty()) throwBadInput(run.origin, "the run ended before its first step");
  const std::vector<std::size_t> kept = evenlySpread(run.steps.size(), limits.steps);
  const std::vector<std::string> metrics = metricsOf(run);
  for (const std::size_t i : kept) curves.steps.push_back(run.steps[i].step);
  for (const std::string& metric : metrics) {
    reports::MetricCurve curve{metric, {}, {}};
    for (const std::size_t i : kept) {
      curve.run.push_back(reports::rounded(valueOf(run, i, metric), kValueDigits));
      if (golden.numerics) curve.golden.push_back(reports::rounded(valueOf(*golden.numerics, i, metric), kValueDigits));
    }
    curves.metrics.push_back(std::move(curve));
  }
  curves.note = leftOut(kept.size(), run.steps.size(), "steps");
  if (!golden.numerics) return curves;
  curves.golden = golden.name;
  curves.firstDifferent = firstDifferent(run, *golden.numerics, metrics);
  return curves;
}

std::optional<reports::GradientMap> gradientMapOf(const golden::Record& run, const PageGolden& golden,
                                                  const PageLimits& limits) {
  const bool comparable = golden.numerics && golden.numerics->parameters == run.parameters;
  const golden::Record* other = comparable ? &*golden.numerics : nullptr;
  const std::vector<std::size_t> all = stepsWithGradients(run, other);
  if (all.empty() || run.parameters.empty()) return std::nullopt;
  std::vector<std::size_t> steps;
  for (const std::size_t i : evenlySpread(all.size(), limits.gradientSteps)) steps.push_back(all[i]);
  reports::GradientMap map;
  for (const std::size_t step : steps) map.steps.push_back(run.steps[step].step);
  std::vector<MapRow> rows;
  if (comparable)
    rows = mapRows(run, steps, [&](std::size_t step, std::size_t p) {
      return distance(other->gradients[step][p], run.gradients[step][p]);
    });
  map.distances = comparable && largest(rows.front().values) > 0;
  if (!map.distances)
    rows = mapRows(run, steps, [&](std::size_t step, std::size_t p) { return run.gradients[step][p].l2; });
  if (rows.size() > limits.parameters) rows.resize(limits.parameters);
  for (MapRow& row : rows) {
    map.parameters.push_back(row.parameter);
    map.rows.push_back(std::move(row.values));
  }
  map.note = leftOut(map.parameters.size(), run.parameters.size(), "parameters, those with the largest values");
  if (comparable && !map.distances) map.note = "Every gradient equals the golden's bit for bit. " + map.note;
  return map;
}

reports::Throughput throughputOf(const golden::Record& run, const PageGolden& golden, const PageLimits& limits) {
  reports::Throughput view;
  view.stepSeconds = samplesOf(run.stepSeconds, limits.samples, kRateDigits);
  view.note = golden.performanceProblem;
  for (const auto& [role, samples] : run.samples) {
    reports::RateSamples rates{role, samplesOf(samples.tokensPerSecond, limits.samples, kRateDigits), {}};
    if (golden.performance)
      if (const auto other = golden.performance->samples.find(role); other != golden.performance->samples.end())
        rates.golden = samplesOf(other->second.tokensPerSecond, limits.samples, kRateDigits);
    view.roles.push_back(std::move(rates));
  }
  return view;
}

reports::EnvironmentView environmentOf(const std::string& folder, const std::optional<golden::Record>& run,
                                       const PageGolden& golden) {
  const golden::EnvironmentReport report = loadEnvironmentReport(folder);
  reports::EnvironmentView view;
  view.golden = golden.numerics ? golden.name + ", " + golden.provenance : "";
  view.rows.push_back({"program", "version", report.version, std::nullopt});
  view.rows.push_back({"program", "commit", report.commit, std::nullopt});
  view.rows.push_back({"program", "processes", std::to_string(report.processes), std::nullopt});
  const auto fieldsOf = [](const std::optional<golden::Record>& record) {
    return record ? &record->numericsClass.fields : nullptr;
  };
  if (run) addClass("numerics class", run->numericsClass.fields, fieldsOf(golden.numerics), view.rows);
  const std::map<std::string, std::string>* machine = golden.performance && golden.performance->performanceClass
                                                          ? &golden.performance->performanceClass->fields
                                                          : nullptr;
  const bool own = run && run->performanceClass;
  addClass("performance class", own ? run->performanceClass->fields : report.performanceClass, machine, view.rows);
  addClass("variable", report.variables, golden.numerics ? &golden.environment : nullptr, view.rows);
  return view;
}

}  // namespace redraft::harness
