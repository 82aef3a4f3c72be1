#include "scenarios/cli/report_outputs.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace redraft::scenarios {
namespace {

/// Of "NAME" or "NAME=FILE".
const reports::Format& formatOf(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  const reports::Format* format = reports::findFormat(name);
  if (format != nullptr) return *format;
  std::vector<std::string> names;
  for (const reports::Format& each : reports::kFormats) names.emplace_back(each.name);
  const std::string near = nearest(name, names);
  throwBadInput("--format " + printable(option), "no such format",
                near.empty() ? "write one of " + join(names, ", ") : "did you mean " + near + "?");
}

}  // namespace

void ReportOutputs::show(const reports::Format& format) {
  const bool lines = format.print == reports::printAnnotations;
  const bool taken = document != nullptr ? document != &format : annotations && !lines;
  if (taken)
    throwBadInput(std::string("--format ") + format.name, "standard output takes one document",
                  std::string("write --format ") + format.name + "=FILE");
  if (lines)
    annotations = true;
  else
    document = &format;
}

ReportOutputs outputsOf(const std::vector<std::string>& options) {
  ReportOutputs outputs;
  for (const std::string& option : options) {
    const reports::Format& format = formatOf(option);
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) {
      outputs.show(format);
      continue;
    }
    const std::string path = option.substr(equals + 1);
    if (path.empty())
      throwBadInput("--format " + printable(option), "the file has no name", "write --format NAME=FILE");
    const auto same = [&](const harness::ReportFile& each) { return each.path == path; };
    if (std::any_of(outputs.files.begin(), outputs.files.end(), same))
      throwBadInput("--format " + printable(option), "two formats for one file");
    outputs.files.push_back({&format, path});
  }
  return outputs;
}

}  // namespace redraft::scenarios
