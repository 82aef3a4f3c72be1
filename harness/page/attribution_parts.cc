// Where the steps' time went, and what changed since a reference.
#include <algorithm>

#include "base/text.h"
#include "harness/page/parts.h"
#include "harness/timing/kernel_names.h"
#include "harness/timing/text_parts.h"
#include "harness/timing/time_difference.h"
#include "harness/trace/load_trace.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kWholeName = 400;  // bytes of a kernel's whole name

/// A shortened name, and the whole one where that says more.
struct Names {
  std::string shown, whole;
};

Names namesOf(const std::string& name) {
  Names names{shortName(name, kNameWidth), printable(name, kWholeName)};
  if (names.whole == names.shown) names.whole.clear();
  return names;
}

double perStep(std::int64_t total, const DeviceSplit& device) {
  return static_cast<double>(total) / static_cast<double>(std::max<std::int64_t>(1, device.stepCount()));
}

reports::TimeLine lineOf(const TimeGroup& group, const DeviceSplit& device) {
  Names names = namesOf(group.name);
  return {enumName(group.part),
          placeText(group.role, group.phase, group.stream),
          std::move(names.shown),
          std::move(names.whole),
          group.shape,
          perStep(group.count, device),
          perStep(group.busyNs, device),
          perStep(group.ns, device)};
}

reports::DeviceTime deviceOf(const DeviceSplit& device, std::size_t lines) {
  reports::DeviceTime view;
  view.title = deviceTitle(device.process, device.device, {});
  view.roles = device.roles;
  view.steps = device.stepCount();
  view.wallNs = perStep(device.wallNs, device);
  view.spreadNs = device.spreadNs;
  for (const std::int64_t part : device.parts) view.parts.push_back(perStep(part, device));
  for (const TimeGroup& group : device.groups) {
    if (view.lines.size() < lines) {
      view.lines.push_back(lineOf(group, device));
    } else {
      ++view.others;
      view.otherNs += perStep(group.ns, device);
    }
  }
  return view;
}

/// matchText(), where the sides are "the reference" and this.
std::string matchedText(const TimeChange& change) {
  std::string text = matchText(change);
  if (text.empty() || (change.by != MatchedBy::kOnlyA && change.by != MatchedBy::kOnlyB)) return text;
  return change.by == MatchedBy::kOnlyA ? "only in the reference" : "not in the reference";
}

reports::TimeChangeView changeOf(const TimeChange& change) {
  const auto each = [](double busyNs, double count) { return count > 0 ? busyNs / count : 0; };
  Names names = namesOf(change.name);
  return {enumName(change.part),
          placeText(change.role, change.phase, change.stream),
          std::move(names.shown),
          std::move(names.whole),
          change.shape,
          matchedText(change),
          change.countA,
          change.countB,
          each(change.busyNsA, change.countA),
          each(change.busyNsB, change.countB),
          change.changeNs()};
}

reports::DeviceTimeBefore beforeOf(const DeviceChange& change, std::size_t lines) {
  reports::DeviceTimeBefore view;
  view.wallNs = change.wallNsA;
  view.parts = change.partsA;
  view.errorNs = change.errorNs;
  view.clear = change.clear;
  view.residualNs = change.residualNs;
  for (const TimeChange& each : change.changes) {
    if (!each.clear) continue;
    if (view.changes.size() < lines) {
      view.changes.push_back(changeOf(each));
    } else {
      ++view.more;
      view.moreNs += each.changeNs();
    }
  }
  return view;
}

void addWaits(const TimeSplit& split, reports::Attribution& view) {
  const double steps = static_cast<double>(std::max<std::size_t>(1, split.steps.size()));
  for (const HostWaitCount& wait : split.waits)
    view.waits.push_back({wait.role, wait.call, static_cast<double>(wait.count) / steps,
                          static_cast<double>(wait.ns) / steps, std::nullopt, std::nullopt});
}

void addReference(const TimeSplit& split, const TimeReference& reference, std::size_t lines,
                  reports::Attribution& view) {
  const TimeDifference difference = differenceOf(reference.split, split);
  view.reference = reference.name;
  for (const DeviceChange& change : difference.devices)
    for (reports::DeviceTime& device : view.devices)
      if (device.title == deviceTitle(change.process, change.device, {})) device.before = beforeOf(change, lines);
  view.waits.clear();
  for (const HostWaitChange& wait : difference.waits)
    view.waits.push_back({wait.role, wait.call, wait.countB, wait.nsB, wait.countA, wait.nsA});
  view.notes = difference.notes;  // of both
  for (std::string& note : view.notes) {
    if (note.starts_with("A: ")) note.replace(0, 1, "reference");
    if (note.starts_with("B: ")) note.replace(0, 1, "this");
  }
  for (const std::string& device : difference.onlyA) view.notes.push_back(device + " is in the reference only");
  for (const std::string& device : difference.onlyB) view.notes.push_back(device + " is not in the reference");
}

/// One trace of all.
TimeSplit splitOf(const std::vector<RankTrace>& traces) {
  if (traces.size() == 1) return splitTime(traces.front().trace);
  Trace whole;
  for (const RankTrace& each : traces) appendTrace(whole, each.trace);
  return splitTime(whole);
}

}  // namespace

reports::Attribution attributionOf(const TimeSplit& split, const std::optional<TimeReference>& reference,
                                   const PageLimits& limits) {
  reports::Attribution view;
  for (std::size_t part = 0; part < kTimeParts; ++part)
    view.parts.push_back({enumName(static_cast<TimePart>(part)), partTitle(static_cast<TimePart>(part))});
  if (split.steps != std::vector<std::int64_t>{-1}) {
    view.steps = stepRanges(split.steps);
    view.leftOut = stepRanges(split.leftOut);
  }
  view.notes = split.notes;
  for (const DeviceSplit& device : split.devices) view.devices.push_back(deviceOf(device, limits.lines));
  addWaits(split, view);
  if (reference) addReference(split, *reference, limits.lines, view);
  return view;
}

void addAttribution(const std::vector<RankTrace>& traces, const std::optional<PageReference>& reference,
                    const PageLimits& limits, reports::CaseDetails& details) {
  orNotice(details, {reports::part::kAttribution}, [&] {
    const TimeSplit split = splitOf(traces);
    std::optional<TimeReference> before;
    std::string problem;
    try {
      if (reference) before = TimeReference{reference->name, splitTime(loadTraces(reference->traces))};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      problem = "the reference cannot be read: " + std::string(error.what());
    }
    details.attribution = attributionOf(split, before, limits);
    if (!problem.empty()) details.attribution->notes.push_back(problem);
  });
}

}  // namespace redraft::harness
