#include "harness/trace/load_trace.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "harness/trace/binary_trace.h"
#include "harness/trace/kineto_reader.h"

namespace redraft::harness {

std::vector<std::string> traceFilesIn(const std::string& folder) {
  std::vector<std::string> kineto, compact;  // of the same run: to read both would be to see all twice
  for (const std::string& name : listDirectory(folder)) {
    if (name.ends_with(kBinaryTraceSuffix)) compact.push_back(joinPath(folder, name));
    if (name.ends_with(".json") || name.ends_with(".json.gz")) kineto.push_back(joinPath(folder, name));
  }
  return compact.empty() ? kineto : compact;
}

Trace loadTraces(const std::vector<std::string>& paths) {
  Trace trace;
  for (const std::string& path : paths) {
    std::error_code failed;
    const bool folder = std::filesystem::is_directory(path, failed);
    const std::vector<std::string> files = folder ? traceFilesIn(path) : std::vector<std::string>{path};
    if (files.empty())
      throwBadInput(path, "holds no trace", "name a trace (*.json, *.json.gz, *.rdtrace), or a folder of some");
    for (const std::string& file : files)
      appendTrace(trace, isBinaryTrace(file) ? readBinaryTrace(file) : readKineto(file));
  }
  return trace;
}

}  // namespace redraft::harness
