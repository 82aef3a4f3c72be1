#include <algorithm>

#include "base/text.h"
#include "harness/timing/text_parts.h"
#include "reports/layout.h"

namespace redraft::harness {
namespace {

double perStep(std::int64_t total, const DeviceSplit& device) {
  return static_cast<double>(total) / static_cast<double>(device.stepCount());
}

std::string partRows(const DeviceSplit& device) {
  Rows rows;
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (device.parts[part] == 0) continue;
    rows.push_back({milliseconds(perStep(device.parts[part], device)) + " ms",
                    percent(static_cast<double>(device.parts[part]), static_cast<double>(device.wallNs)),
                    partTitle(static_cast<TimePart>(part))});
  }
  return alignedLines(rows, "  ", {0, 1});
}

std::vector<std::string> groupRow(const TimeGroup& group, const DeviceSplit& device) {
  std::vector<std::string> row = {milliseconds(perStep(group.ns, device)) + " ms", "", partTitle(group.part),
                                  placeText(group.role, group.phase, group.stream), workText(group.name, group.shape)};
  if (group.count > 0) row[1] = reports::formatNumber(perStep(group.count, device), 4) + " ×";
  return row;
}

std::string groupRows(const DeviceSplit& device, std::size_t top) {
  Rows rows;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < device.groups.size(); ++i) {
    if (i < top)
      rows.push_back(groupRow(device.groups[i], device));
    else
      rest += device.groups[i].ns;
  }
  if (device.groups.size() > top)
    rows.push_back({milliseconds(perStep(rest, device)) + " ms", "",
                    std::to_string(device.groups.size() - top) + " others", "", ""});
  return "  longest\n" + alignedLines(rows, "    ", {0, 1});
}

std::string deviceText(const DeviceSplit& device, std::size_t top) {
  const double mean = perStep(device.wallNs, device);
  if (device.wallNs == 0) return deviceTitle(device.process, device.device, device.roles) + ": no time\n";
  return deviceTitle(device.process, device.device, device.roles) + ": " + milliseconds(mean) + " ms a step, " +
         std::to_string(device.stepCount()) + (device.stepCount() == 1 ? " step" : " steps, spread ") +
         (device.stepCount() == 1 ? "" : milliseconds(device.spreadNs) + " ms") + "\n" + partRows(device) +
         groupRows(device, top);
}

std::string waitRows(const TimeSplit& split) {
  Rows rows;
  const auto steps = static_cast<double>(split.steps.size());
  for (const HostWaitCount& wait : split.waits)
    rows.push_back({reports::formatNumber(static_cast<double>(wait.count) / steps, 4) + " ×",
                    milliseconds(static_cast<double>(wait.ns) / steps) + " ms", wait.role.empty() ? "" : wait.role,
                    wait.call});
  return rows.empty() ? "" : "calls that wait for a device, a step\n" + alignedLines(rows, "  ", {0, 1});
}

}  // namespace

std::string splitText(const TimeSplit& split, std::size_t top) {
  std::string text;
  if (split.steps != std::vector<std::int64_t>{-1})
    text += "steps " + stepRanges(split.steps) +
            (split.leftOut.empty() ? "" : "; left out: " + stepRanges(split.leftOut)) + "\n";
  for (const DeviceSplit& device : split.devices) text += deviceText(device, top);
  text += waitRows(split);
  for (const std::string& note : split.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace redraft::harness
