#include "harness/suite_record.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "harness/suite_folder.h"
#include "reports/printers.h"

namespace redraft::harness {
namespace {

/// A line of suite.jsonl: `type` says which of the others are there.
struct SuiteLine {
  std::string type;                              // "suite", "planned", "started", "ended", "suite.end"
  std::string schema, version, commit, started;  // suite
  std::int64_t pid = 0;                          // suite
  std::int64_t index = -1;                       // planned, started, ended
  std::optional<reports::CaseResult> result;     // planned, ended
  double seconds = 0;                            // suite.end
  std::string knownFile;                         // suite.end
  std::vector<reports::KnownFailureUse> known;   // suite.end
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("type", type);
    visit.unless("schema", schema, "");
    visit.unless("version", version, "");
    visit.unless("commit", commit, "");
    visit.unless("started", started, "");
    visit.unless("pid", pid, 0);
    visit.unless("index", index, -1);
    visit("case", result);
    visit.unless("seconds", seconds, 0);
    visit.unless("known_failures_file", knownFile, "");
    visit.unless("known_failures", known, std::vector<reports::KnownFailureUse>());
  }
};

std::string lineText(const SuiteLine& line) { return oneLine(recordToJson(line)); }

SuiteLine caseLine(const char* type, std::size_t index) {
  SuiteLine line;
  line.type = type;
  line.index = static_cast<std::int64_t>(index);
  return line;
}

/// Every case has ended by itself.
bool isComplete(const reports::SuiteResult& suite, const std::vector<bool>& ended) {
  const auto isAborted = [](const reports::CaseResult& each) { return each.verdict == reports::Verdict::kAborted; };
  return std::find(ended.begin(), ended.end(), false) == ended.end() &&
         std::none_of(suite.cases.begin(), suite.cases.end(), isAborted);
}

}  // namespace

SuiteRecord::SuiteRecord(reports::SuiteResult suite, std::vector<ReportFile> files, reports::KnownFailureList known)
    : suite_(std::move(suite)),
      files_(std::move(files)),
      known_(std::move(known)),
      ended_(suite_.cases.size()),
      lines_(joinPath(suite_.folder, kSuiteFile)) {
  SuiteLine header;
  header.type = "suite";
  header.schema = kSuiteSchema;
  header.version = suite_.version;
  header.commit = suite_.commit;
  header.started = suite_.started;
  header.pid = ::getpid();
  lines_.append(lineText(header));
  for (std::size_t i = 0; i < suite_.cases.size(); ++i) {
    SuiteLine line = caseLine("planned", i);
    line.result = suite_.cases[i];
    lines_.append(lineText(line));
  }
  suite_.known = usesOf(known_, today(), suite_);
  writeReports();
}

void SuiteRecord::started(std::size_t index) { lines_.append(lineText(caseLine("started", index))); }

reports::CaseResult SuiteRecord::ended(std::size_t index, reports::CaseResult result) {
  const std::lock_guard lock(mutex_);
  markKnown(known_, today(), result);
  SuiteLine line = caseLine("ended", index);
  line.result = result;
  lines_.append(lineText(line));
  suite_.cases.at(index) = result;
  ended_.at(index) = true;
  suite_.known = usesOf(known_, today(), suite_);
  writeReports();
  return result;
}

void SuiteRecord::finish(double seconds) {
  const std::lock_guard lock(mutex_);
  suite_.seconds = seconds;
  suite_.complete = isComplete(suite_, ended_);
  SuiteLine line;
  line.type = "suite.end";
  line.seconds = seconds;
  line.knownFile = suite_.knownFile;
  line.known = suite_.known;
  lines_.append(lineText(line));
  writeReports();
}

reports::SuiteResult SuiteRecord::result() const {
  const std::lock_guard lock(mutex_);
  return suite_;
}

void SuiteRecord::writeReports() const {
  for (const reports::Format& format : reports::kFormats)
    if (*format.file != '\0') writeFileAtomically(joinPath(suite_.folder, format.file), format.print(suite_));
  for (const ReportFile& file : files_) writeFileAtomically(file.path, file.format->print(suite_));
}

reports::SuiteResult loadSuite(const std::string& folder) {
  const std::string path = joinPath(folder, kSuiteFile);
  const std::vector<std::string> lines = readLines(path);  // a torn last line is a killed writer: it does not count
  reports::SuiteResult suite;
  suite.folder = folder;
  std::vector<bool> ended;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string place = path + ":" + std::to_string(i + 1);
    const JsonDocument document = JsonDocument::parse(lines[i], place, JsonDocument::Comments::kRefuse);
    SuiteLine line = recordFromJson<SuiteLine>(document.root(), place);
    if (i == 0) {
      if (line.schema != kSuiteSchema)
        throwBadInput(place, "the schema \"" + line.schema + "\" is not known",
                      std::string("expected ") + kSuiteSchema);
      suite.version = line.version;
      suite.commit = line.commit;
      suite.started = line.started;
    } else if (line.type == "planned" && line.result) {
      suite.cases.push_back(*line.result);
      ended.push_back(false);
    } else if (line.type == "ended" && line.result) {
      if (line.index < 0 || line.index >= static_cast<std::int64_t>(suite.cases.size()))
        throwBadInput(place, "the end of a case that was not planned");
      suite.cases[static_cast<std::size_t>(line.index)] = *line.result;
      ended[static_cast<std::size_t>(line.index)] = true;
    } else if (line.type == "suite.end") {
      suite.seconds = line.seconds;
      suite.knownFile = line.knownFile;
      suite.known = line.known;
    }
  }
  if (lines.empty()) throwBadInput(path, "it is empty");
  suite.complete = isComplete(suite, ended);
  return suite;
}

}  // namespace redraft::harness
