// An event log, and what the supervisor concludes from it: a log may be cut off or wrong, and the supervisor goes on.
#include <string>

#include "base/error.h"
#include "harness/attribution.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/input_folder.h"

namespace redraft::harness {
namespace {

void checkEvents(const EventLog& log) {
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const std::string line = eventLine(log.events[i]);
    REDRAFT_CHECK(eventLine(parseEventLine(line, "again")) == line, "an event did not survive writing: " + line);
    REDRAFT_CHECK(log.events[i].head.seq == static_cast<std::int64_t>(i), "an event is out of order");
  }
}

/// Evidence of a run whose child was refused something, and of one that was killed.
void conclude(EventLog log) {
  Evidence evidence;
  evidence.topology.copyEdges = {{0, 6}, {0, 7}, {6, 7}, {7, 6}};
  evidence.seen.log = std::move(log);
  for (const ChildEnd end : {ChildEnd{false, 1}, ChildEnd{true, 9}}) {
    evidence.seen.end = end;
    for (const reports::Finding& finding : attribute(evidence))
      REDRAFT_CHECK(!finding.id.empty() && !finding.signature.empty(), "a finding without a name");
  }
}

void readLog(std::string_view bytes) {
  static const fuzz::InputFolder input;
  input.write("events.jsonl", bytes);
  EventLog log = readEvents(input.file("events.jsonl"));
  REDRAFT_CHECK(log.problem.empty() || log.problem.rfind(input.path(), 0) == 0, log.problem);
  checkEvents(log);
  conclude(std::move(log));
}

}  // namespace
}  // namespace redraft::harness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::harness::readLog({reinterpret_cast<const char*>(data), size});
  return 0;
}
