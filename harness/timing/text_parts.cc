#include "harness/timing/text_parts.h"

#include "base/formatted.h"
#include "base/text.h"
#include "harness/timing/kernel_names.h"
#include "reports/layout.h"

namespace redraft::harness {

std::string alignedLines(const Rows& rows, const std::string& indent, const std::vector<std::size_t>& right) {
  std::string text;
  for (const std::string& line : reports::alignColumns(rows, "  ", right)) text += indent + line + "\n";
  return text;
}

std::string milliseconds(double ns) { return formatted("%.3f", ns / 1e6); }
std::string signedMilliseconds(double ns) {
  const std::string text = formatted("%+.3f", ns / 1e6);
  return text == "-0.000" ? "+0.000" : text;
}

std::string percent(double part, double whole) { return whole > 0 ? formatted("%.1f %%", 100 * part / whole) : "– %"; }

std::string stepRanges(const std::vector<std::int64_t>& steps) {
  std::vector<std::string> ranges;
  for (std::size_t at = 0; at < steps.size();) {
    std::size_t last = at;
    while (last + 1 < steps.size() && steps[last + 1] == steps[last] + 1) ++last;
    ranges.push_back(std::to_string(steps[at]) + (last > at ? "–" + std::to_string(steps[last]) : ""));
    at = last + 1;
  }
  return join(ranges, ", ");
}

std::string deviceTitle(const std::string& process, std::int32_t device, const std::vector<std::string>& roles) {
  const std::string where = device < 0 ? "unknown device" : "device " + std::to_string(device);
  return (process.empty() ? "" : process + ", ") + where +
         (roles.empty() ? "" : " (" + printable(join(roles, ", "), 60) + ")");
}

std::string placeText(const std::string& role, const std::string& phase, const std::string& stream) {
  std::vector<std::string> parts;
  for (const std::string& part : {role, phase})
    if (!part.empty()) parts.push_back(printable(part, 40));
  if (!stream.empty()) parts.push_back(stream == "own" ? "own stream" : "stream " + stream);
  return join(parts, " ");
}

std::string workText(const std::string& name, const std::string& shape) {
  return shortName(name, kNameWidth) + (shape.empty() || name.empty() ? "" : ", " + shape);
}

}  // namespace redraft::harness
