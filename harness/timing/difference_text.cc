#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "harness/timing/text_parts.h"
#include "harness/timing/time_difference.h"
#include "reports/layout.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kHeadlines = 3;

std::string title(const DeviceChange& device) { return deviceTitle(device.process, device.device, device.roles); }

std::string shareText(double change, double whole) {
  const std::string text = percent(change, whole);
  return change > 0 ? "+" + text : text;
}

std::string stepRows(const TimeDifference& difference) {
  Rows rows;
  for (const DeviceChange& device : difference.devices)
    rows.push_back({milliseconds(device.wallNsA), "→", milliseconds(device.wallNsB) + " ms",
                    signedMilliseconds(device.changeNs()) + " ms", shareText(device.changeNs(), device.wallNsA),
                    "± " + milliseconds(device.errorNs), title(device)});
  return "step time, A → B (± one standard error, from the spread between steps)\n" +
         alignedLines(rows, "  ", {0, 2, 3, 4, 5});
}

/// "12 × 41.0 → 12 × 52.1 µs": how often a step, and how long each.
std::string timesText(const TimeChange& change) {
  const auto side = [](double count, double busyNs) {
    return count == 0 ? std::string("0")
                      : reports::formatNumber(count, 4) + " × " + reports::formatNumber(busyNs / count / 1e3, 4);
  };
  if (!isBusy(change.part)) return "";
  return side(change.countA, change.busyNsA) + " → " + side(change.countB, change.busyNsB) + " µs";
}

std::vector<std::string> changeRow(const TimeChange& change) {
  const std::string how = matchText(change);
  const std::string what = workText(change.name, change.shape);
  return {signedMilliseconds(change.changeNs()) + " ms", partTitle(change.part),
          placeText(change.role, change.phase, change.stream), timesText(change),
          what + (how.empty() ? "" : (what.empty() ? "" : "; ") + how)};
}

using Cause = std::pair<const DeviceChange*, const TimeChange*>;

/// Clear changes of one direction (0: of both), the largest first: not waits that follow from others', unless there is
/// nothing else.
std::vector<Cause> causesOf(const TimeDifference& difference, double sign) {
  std::vector<Cause> causes;
  for (const bool alsoWaits : {false, true}) {
    if (!causes.empty()) break;
    for (const DeviceChange& device : difference.devices)
      for (const TimeChange& change : device.changes)
        if (change.clear && (sign == 0 || sign * change.changeNs() > 0) && (alsoWaits || !isWaitForOthers(change.part)))
          causes.emplace_back(&device, &change);
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& x, const Cause& y) {
    return std::abs(x.second->changeNs()) > std::abs(y.second->changeNs());
  });
  return causes;
}

std::string headlines(const TimeDifference& difference) {
  double total = 0;
  bool clear = false;
  for (const DeviceChange& device : difference.devices) {
    total += device.changeNs();
    clear |= device.clear;
  }
  const double sign = !clear ? 0 : total < 0 ? -1 : 1;
  const std::vector<Cause> causes = causesOf(difference, sign);
  if (causes.empty()) return "nothing changed beyond what steps vary by\n";
  Rows rows;
  for (std::size_t i = 0; i < std::min(kHeadlines, causes.size()); ++i) {
    std::vector<std::string> row = changeRow(*causes[i].second);
    row.insert(row.begin() + 1, "of " + signedMilliseconds(causes[i].first->changeNs()));
    row.insert(row.begin() + 2, title(*causes[i].first));
    rows.push_back(std::move(row));
  }
  const char* heading = !clear     ? "no step is slower or faster beyond what steps vary by; within them"
                        : sign > 0 ? "slower by"
                                   : "faster by";
  return std::string(heading) + "\n" + alignedLines(rows, "  ", {0, 1});
}

std::string partRows(const DeviceChange& device) {
  Rows rows;
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    const double a = device.partsA[part], b = device.partsB[part];
    if (a == 0 && b == 0) continue;
    rows.push_back({signedMilliseconds(b - a) + " ms", partTitle(static_cast<TimePart>(part)), milliseconds(a), "→",
                    milliseconds(b) + " ms"});
  }
  rows.push_back({signedMilliseconds(device.changeNs()) + " ms", "the step", milliseconds(device.wallNsA), "→",
                  milliseconds(device.wallNsB) + " ms"});
  return alignedLines(rows, "  ", {0, 2, 4});
}

std::string changeRows(const DeviceChange& device, std::size_t top) {
  Rows rows;
  std::size_t clear = 0;
  double rest = 0;
  for (const TimeChange& change : device.changes) {
    if (!change.clear) continue;
    if (clear++ < top)
      rows.push_back(changeRow(change));
    else
      rest += change.changeNs();
  }
  if (clear > top)
    rows.push_back({signedMilliseconds(rest) + " ms", std::to_string(clear - top) + " more", "", "", ""});
  rows.push_back(
      {signedMilliseconds(device.residualNs) + " ms", "residual", "", "",
       std::to_string(device.changes.size() - clear) + " changes, each within 3 standard errors or 0.1 % of the step"});
  return "  in detail\n" + alignedLines(rows, "    ", {0});
}

std::string waitRows(const TimeDifference& difference) {
  Rows rows;
  for (const HostWaitChange& wait : difference.waits) {
    if (wait.countA == wait.countB) continue;
    rows.push_back({wait.role, wait.call,
                    reports::formatNumber(wait.countA, 4) + " → " + reports::formatNumber(wait.countB, 4) + " ×",
                    milliseconds(wait.nsA) + " → " + milliseconds(wait.nsB) + " ms"});
  }
  return rows.empty() ? "" : "calls that wait for a device, more or fewer a step\n" + alignedLines(rows, "  ", {});
}

}  // namespace

std::string matchText(const TimeChange& change) {
  if (!isBusy(change.part) && (change.by == MatchedBy::kOnlyA || change.by == MatchedBy::kOnlyB)) return "";
  switch (change.by) {
    case MatchedBy::kExact:
      return "";
    case MatchedBy::kName:
      return change.shapeA.empty() ? "several shapes" : "was " + change.shapeA;
    case MatchedBy::kStream:
      return "on another stream";
    case MatchedBy::kBase:
      return "by base name; was " + workText(change.nameA, change.shapeA);
    case MatchedBy::kBaseStream:
      return "by base name, on another stream; was " + workText(change.nameA, change.shapeA);
    case MatchedBy::kOnlyA:
      return "only in A";
    case MatchedBy::kOnlyB:
      return "only in B";
  }
  return "";
}

std::string differenceSummary(const TimeDifference& difference) {
  std::string text = headlines(difference) + waitRows(difference) + stepRows(difference);
  for (const std::string& device : difference.onlyA) text += device + ": only in A\n";
  for (const std::string& device : difference.onlyB) text += device + ": only in B\n";
  return text;
}

std::string differenceText(const TimeDifference& difference, std::size_t top) {
  std::string text = differenceSummary(difference);
  for (const DeviceChange& device : difference.devices)
    text += title(device) + "\n" + partRows(device) + changeRows(device, top);
  for (const std::string& note : difference.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace redraft::harness
