#include "harness/trace/trace.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.h"

namespace redraft::harness {
namespace {

constexpr std::array<const char*, kRecordKinds> kKindNames = {
    "kernel", "copy",   "peer_copy", "set",        "api",        "sync",     "event", "context",
    "stream", "module", "function",  "allocation", "annotation", "overhead", "race",  "hand_off"};

}  // namespace

StringTable::StringTable() { intern(""); }

StringTable::StringTable(const StringTable& other) {
  for (const std::string& text : other.texts_) intern(text);
}

StringTable& StringTable::operator=(const StringTable& other) {
  if (this != &other) *this = StringTable(other);
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  REDRAFT_CHECK(texts_.size() < std::numeric_limits<StringId>::max(), "more texts than a StringId can number");
  const auto id = static_cast<StringId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

StringId StringTable::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? 0 : found->second;
}

const char* recordKindName(RecordKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kKindNames.size() ? kKindNames[index] : "unknown";
}

std::optional<RecordKind> recordKindFromName(std::string_view name) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<RecordKind>(found - kKindNames.begin());
}

bool TraceFile::captured(RecordKind kind) const {
  return std::find(capture.kinds.begin(), capture.kinds.end(), recordKindName(kind)) != capture.kinds.end();
}

void appendTrace(Trace& into, Trace from) {
  if (into.files.size() + from.files.size() > std::numeric_limits<std::uint16_t>::max())
    throwBadInput(from.files.empty() ? "" : from.files.front().path, "more trace files than can be audited together");
  if (into.files.empty() && into.records.empty()) {
    into = std::move(from);
    return;
  }
  std::vector<StringId> ids(from.strings.size());
  for (std::size_t id = 0; id < ids.size(); ++id)
    ids[id] = into.strings.intern(from.strings.text(static_cast<StringId>(id)));
  const auto firstFile = static_cast<std::uint16_t>(into.files.size());
  into.records.reserve(into.records.size() + from.records.size());
  for (TraceRecord record : from.records) {
    for (StringId* text : {&record.name, &record.role, &record.phase, &record.detail, &record.shape})
      *text = ids[*text];
    record.file = static_cast<std::uint16_t>(record.file + firstFile);
    into.records.push_back(record);
  }
  std::move(from.files.begin(), from.files.end(), std::back_inserter(into.files));
}

}  // namespace redraft::harness
