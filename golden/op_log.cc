#include "golden/op_log.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "golden/run_files.h"

namespace redraft::golden {

namespace {

OpLog loadOne(const std::string& folder) {
  const std::string path = joinPath(folder, kOpLogFile);
  const std::vector<std::string> lines = readLines(path);
  if (lines.empty()) throwBadInput(path, "it is empty", "run the scenario again");
  OpLog log;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string place = path + ":" + std::to_string(i + 1);
    const JsonDocument document = JsonDocument::parse(lines[i], place, JsonDocument::Comments::kRefuse);
    if (i > 0) {
      log.ops.push_back(recordFromJson<OpRecord>(document.root(), place));
      continue;
    }
    if (document.root().is_object() && document.root().value("schema", Json()) != kOpLogSchema)
      throwBadInput(place, "its schema is not " + std::string(kOpLogSchema), "record it again with this version");
    log.header = recordFromJson<OpLogHeader>(document.root(), place);
  }
  return log;
}

}  // namespace

void writeOpLog(const std::string& folder, const OpLog& log) {
  AtomicFile file(joinPath(folder, kOpLogFile));
  file.write(oneLine(recordToJson(log.header)) + "\n");
  for (const OpRecord& op : log.ops) file.write(oneLine(recordToJson(op)) + "\n");
  file.commit();
}

OpLog loadOpLog(const std::string& folder, int processes) {
  OpLog all = loadOne(folder);
  for (int rank = 1; rank < processes; ++rank) {
    OpLog other = loadOne(rankFolder(folder, rank));
    all.header.missing += other.header.missing;
    std::move(other.ops.begin(), other.ops.end(), std::back_inserter(all.ops));
  }
  std::sort(all.ops.begin(), all.ops.end(), [](const OpRecord& a, const OpRecord& b) {
    return std::tie(a.step, a.role, a.lane, a.index) < std::tie(b.step, b.role, b.lane, b.index);
  });
  return all;
}

bool hasOpLog(const std::string& folder) { return fileExists(joinPath(folder, kOpLogFile)); }

std::string digestText(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

}  // namespace redraft::golden
