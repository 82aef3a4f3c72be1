#include "harness/timing/time_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "harness/timing/kernel_names.h"

namespace redraft::harness {
namespace {

constexpr double kErrors = 3;         // how many standard errors a change must be beyond to be clear
constexpr double kLeastShare = 1e-3;  // and what share of A's step

double perStep(std::int64_t total, std::int64_t steps) {
  return steps == 0 ? 0 : static_cast<double>(total) / static_cast<double>(steps);
}

/// Squared standard error of a mean of steps.
double errorSquared(double spreadNs, std::int64_t steps) {
  return steps < 2 ? 0 : spreadNs * spreadNs / static_cast<double>(steps);
}

/// What two groups must share to be matched in a pass.
using MatchKey = std::tuple<TimePart, std::string, std::string, std::string, std::string, std::string>;

MatchKey keyOf(const TimeGroup& group, MatchedBy by) {
  const bool base = by == MatchedBy::kBase || by == MatchedBy::kBaseStream;
  const bool anyStream = by == MatchedBy::kStream || by == MatchedBy::kBaseStream;
  return {group.part,
          group.role,
          group.phase,
          anyStream ? "" : group.stream,
          base ? baseName(group.name) : group.name,
          by == MatchedBy::kExact ? group.shape : ""};
}

/// Adds a group to one side of a change. Errors of groups are taken to be independent.
class ChangeBuilder {
 public:
  ChangeBuilder(TimeChange& change, std::int64_t stepsA, std::int64_t stepsB)
      : change_(change), stepsA_(stepsA), stepsB_(stepsB) {}

  void add(const TimeGroup& group, bool ofA) {
    const std::int64_t steps = ofA ? stepsA_ : stepsB_;
    (ofA ? change_.countA : change_.countB) += perStep(group.count, steps);
    (ofA ? change_.busyNsA : change_.busyNsB) += perStep(group.busyNs, steps);
    (ofA ? change_.nsA : change_.nsB) += perStep(group.ns, steps);
    errors_ += errorSquared(group.spreadNs, steps);
    change_.errorNs = std::sqrt(errors_);
  }

  /// Names are those of the longest group of a side, B's where there is one.
  void name(const TimeGroup* a, const TimeGroup* b) {
    const TimeGroup& shown = b != nullptr ? *b : *a;
    std::tie(change_.part, change_.role, change_.phase, change_.stream, change_.name, change_.shape) =
        std::tie(shown.part, shown.role, shown.phase, shown.stream, shown.name, shown.shape);
    if (a == nullptr || b == nullptr) return;
    if (a->name != b->name) change_.nameA = a->name;
    if (a->shape != b->shape) change_.shapeA = a->shape;
  }

 private:
  TimeChange& change_;
  std::int64_t stepsA_, stepsB_;
  double errors_ = 0;
};

using Groups = std::vector<const TimeGroup*>;  // the longest first, as in the split

class Matcher {
 public:
  Matcher(const DeviceSplit& a, const DeviceSplit& b) : stepsA_(a.stepCount()), stepsB_(b.stepCount()) {
    for (const TimeGroup& group : a.groups) a_.push_back(&group);
    for (const TimeGroup& group : b.groups) b_.push_back(&group);
  }

  std::vector<TimeChange> run() {
    for (const MatchedBy by :
         {MatchedBy::kExact, MatchedBy::kName, MatchedBy::kStream, MatchedBy::kBase, MatchedBy::kBaseStream})
      pass(by);
    for (const TimeGroup* group : a_) change({group}, {}, MatchedBy::kOnlyA);
    for (const TimeGroup* group : b_) change({}, {group}, MatchedBy::kOnlyB);
    return std::move(changes_);
  }

 private:
  /// Matches what is left on both sides, all that share a key together.
  void pass(MatchedBy by) {
    std::map<MatchKey, std::pair<Groups, Groups>> byKey;
    for (const TimeGroup* group : a_) byKey[keyOf(*group, by)].first.push_back(group);
    for (const TimeGroup* group : b_) byKey[keyOf(*group, by)].second.push_back(group);
    a_.clear();
    b_.clear();
    for (const auto& [key, sides] : byKey) {
      if (!sides.first.empty() && !sides.second.empty()) {
        change(sides.first, sides.second, by);
      } else {
        a_.insert(a_.end(), sides.first.begin(), sides.first.end());
        b_.insert(b_.end(), sides.second.begin(), sides.second.end());
      }
    }
  }

  void change(const Groups& a, const Groups& b, MatchedBy by) {
    TimeChange& made = changes_.emplace_back();
    ChangeBuilder builder(made, stepsA_, stepsB_);
    for (const TimeGroup* group : a) builder.add(*group, true);
    for (const TimeGroup* group : b) builder.add(*group, false);
    builder.name(a.empty() ? nullptr : a.front(), b.empty() ? nullptr : b.front());
    made.by = by;
  }

  std::int64_t stepsA_, stepsB_;
  Groups a_, b_;  // not matched yet
  std::vector<TimeChange> changes_;
};

DeviceChange changeOf(const DeviceSplit& a, const DeviceSplit& b) {
  DeviceChange change;
  change.device = b.device;
  change.process = b.process;
  change.roles = b.roles;
  change.wallNsA = perStep(a.wallNs, a.stepCount());
  change.wallNsB = perStep(b.wallNs, b.stepCount());
  change.errorNs = std::sqrt(errorSquared(a.spreadNs, a.stepCount()) + errorSquared(b.spreadNs, b.stepCount()));
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    change.partsA.push_back(perStep(a.parts[part], a.stepCount()));
    change.partsB.push_back(perStep(b.parts[part], b.stepCount()));
  }
  change.changes = Matcher(a, b).run();
  const auto isClear = [&](double ns, double errorNs) {
    return std::abs(ns) > kErrors * errorNs && std::abs(ns) > kLeastShare * change.wallNsA;
  };
  change.clear = isClear(change.changeNs(), change.errorNs);
  for (TimeChange& each : change.changes) {
    each.clear = isClear(each.changeNs(), each.errorNs);
    if (!each.clear) change.residualNs += each.changeNs();
  }
  const auto rank = [](const TimeChange& each) {
    return std::tie(each.part, each.role, each.phase, each.stream, each.name, each.shape);
  };
  std::sort(change.changes.begin(), change.changes.end(), [&](const TimeChange& x, const TimeChange& y) {
    const double sizeX = std::abs(x.changeNs()), sizeY = std::abs(y.changeNs());
    return sizeX != sizeY ? sizeX > sizeY : rank(x) < rank(y);
  });
  return change;
}

std::string nameOf(const DeviceSplit& split) {
  return (split.process.empty() ? "" : split.process + ", ") + "device " + std::to_string(split.device);
}

std::vector<HostWaitChange> waitChanges(const TimeSplit& a, const TimeSplit& b) {
  std::map<std::pair<std::string, std::string>, HostWaitChange> changes;
  const auto add = [&](const TimeSplit& side, double HostWaitChange::*count, double HostWaitChange::*ns) {
    for (const HostWaitCount& wait : side.waits) {
      HostWaitChange& change = changes[{wait.role, wait.call}];
      change.role = wait.role;
      change.call = wait.call;
      change.*count += perStep(wait.count, static_cast<std::int64_t>(side.steps.size()));
      change.*ns += perStep(wait.ns, static_cast<std::int64_t>(side.steps.size()));
    }
  };
  add(a, &HostWaitChange::countA, &HostWaitChange::nsA);
  add(b, &HostWaitChange::countB, &HostWaitChange::nsB);
  std::vector<HostWaitChange> list;
  for (auto& [key, change] : changes) list.push_back(std::move(change));
  return list;
}

/// Both sides' notes, once where they are the same, and what makes a comparison worth less.
std::vector<std::string> notesOf(const TimeSplit& a, const TimeSplit& b) {
  std::vector<std::string> notes;
  for (const std::string& note : a.notes) {
    const bool both = std::find(b.notes.begin(), b.notes.end(), note) != b.notes.end();
    notes.push_back((both ? "" : "A: ") + note);
  }
  for (const std::string& note : b.notes)
    if (std::find(a.notes.begin(), a.notes.end(), note) == a.notes.end()) notes.push_back("B: " + note);
  if (std::min(a.steps.size(), b.steps.size()) < 2)
    notes.emplace_back("one step a side: how much steps vary is not known, and every change counts as clear");
  return notes;
}

/// B's device with the same number, and in the same process; of a single one each, that one.
const DeviceSplit* partnerOf(const DeviceSplit& device, const TimeSplit& a, const TimeSplit& b) {
  for (const DeviceSplit& other : b.devices)
    if (other.device == device.device && other.process == device.process) return &other;
  return a.devices.size() == 1 && b.devices.size() == 1 ? &b.devices.front() : nullptr;
}

}  // namespace

TimeDifference differenceOf(const TimeSplit& a, const TimeSplit& b) {
  TimeDifference difference;
  std::vector<const DeviceSplit*> matched;
  for (const DeviceSplit& device : a.devices) {
    const DeviceSplit* other = partnerOf(device, a, b);
    if (other == nullptr) {
      difference.onlyA.push_back(nameOf(device));
      continue;
    }
    matched.push_back(other);
    difference.devices.push_back(changeOf(device, *other));
  }
  for (const DeviceSplit& device : b.devices)
    if (std::find(matched.begin(), matched.end(), &device) == matched.end()) difference.onlyB.push_back(nameOf(device));
  difference.waits = waitChanges(a, b);
  difference.notes = notesOf(a, b);
  return difference;
}

}  // namespace redraft::harness
