#pragma once
// Small Kineto files for the tests of traces.

#include <fstream>
#include <string>
#include <vector>

#include "harness/trace/kineto_reader.h"
#include "tests/support/temp_folder.h"

namespace redraft::testing_support {

/// `{"traceEvents": [events…], tail}`.
inline std::string kinetoText(const std::vector<std::string>& events, const std::string& tail = "") {
  std::string text = "{\n  \"schemaVersion\": 1, \"traceEvents\": [\n  ";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n  ") + events[i];
  return text + "\n  ]" + tail + "\n}\n";
}

inline harness::Trace readText(const std::string& text, const harness::KinetoOptions& options = {}) {
  const TempFolder folder;
  std::ofstream(folder.file("trace.json"), std::ios::binary) << text;  // AtomicFile would sync each of thousands
  return harness::readKineto(folder.file("trace.json"), options);
}

}  // namespace redraft::testing_support
