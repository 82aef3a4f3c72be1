#include "harness/trace/binary_trace.h"

#include <bit>
#include <cstdint>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/record.h"
#include "harness/trace/decimal.h"

namespace redraft::harness {
namespace {

constexpr std::string_view kMagic("\x89RDTRC\r\n", 8);
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = kMagic.size() + 4, kDigestBytes = 32;
static_assert(kRecordKinds <= 16, "a kind has four bits");
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

/// A file of the trace, as the head lists it.
struct FileEntry {
  TraceFile file;
  std::map<std::string, std::string> devices, threads;  // names by number
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("path", file.path);
    visit("source", file.capture.source);
    visit("process", file.capture.process);
    visit("dropped", file.capture.dropped);
    visit("kinds", file.capture.kinds);
    visit("canaries", file.capture.canaries);
    visit.unless("communicators", file.capture.communicators, std::vector<CommunicatorInfo>());
    visit("rank", file.rank);
    visit("world_size", file.worldSize);
    visit("devices", devices);
    visit("threads", threads);
  }
};

struct Head {
  std::vector<FileEntry> files;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("files", files);
  }
};

using Names = std::map<std::int64_t, std::string>;

std::map<std::string, std::string> byText(const Names& names) {
  std::map<std::string, std::string> texts;
  for (const auto& [number, name] : names) texts[std::to_string(number)] = name;
  return texts;
}

Names byNumber(const std::map<std::string, std::string>& texts, const std::string& place) {
  Names names;
  for (const auto& [text, name] : texts) {
    const auto number = parseInteger(text);
    if (!number) throwBadInput(place, "\"" + printable(text) + "\" is no number");
    names[*number] = name;
  }
  return names;
}

/// The members of a record in the order of their bits. `startNs` comes before, as a difference.
template <class Record, class Visitor>
void visitMembers(Record& record, Visitor&& visit) {
  visit(record.durationNs);
  visit(record.thread);
  visit(record.correlation);
  visit(record.name);
  visit(record.device);
  visit(record.context);
  visit(record.stream);
  visit(record.role);
  visit(record.step);
  visit(record.phase);
  visit(record.bytes);
  visit(record.fromDevice);
  visit(record.toDevice);
  visit(record.link);
  visit(record.object);
  visit(record.graph);
  visit(record.handoff);
  visit(record.detail);
  visit(record.file);
  visit(record.shape);
}

class Writer {
 public:
  std::string take() { return std::move(out_); }
  void raw(std::string_view bytes) { out_ += bytes; }
  void fixed32(std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out_ += static_cast<char>(value >> shift & 0xff);
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void zigzag(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view bytes) {
    varint(bytes.size());
    raw(bytes);
  }

 private:
  std::string out_;
};

void writeRecord(Writer& out, const TraceRecord& record, std::int64_t before) {
  static constexpr TraceRecord kAbsent;
  std::vector<std::pair<std::int64_t, std::int64_t>> values;  // with what is absent
  visitMembers(record, [&](const auto& member) { values.emplace_back(static_cast<std::int64_t>(member), 0); });
  std::size_t at = 0;
  visitMembers(kAbsent, [&](const auto& member) { values[at++].second = static_cast<std::int64_t>(member); });
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].first != values[i].second) mask |= std::uint64_t{1} << i;
  out.varint(static_cast<std::uint64_t>(record.kind) | static_cast<std::uint64_t>(record.flags) << 4);
  out.varint(mask);
  out.zigzag(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(record.startNs) - static_cast<std::uint64_t>(before)));
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((mask >> i & 1) != 0) out.zigzag(values[i].first);
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throwBadInput(name_ + ": byte " + std::to_string(at_), what, "make the trace again");
  }
  std::size_t left() const { return bytes_.size() - at_; }
  std::string_view raw(std::uint64_t count) {
    if (count > left()) fail("ends early: " + std::to_string(count) + " bytes were to follow");
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }
  std::uint32_t fixed32() {
    std::uint32_t value = 0;
    const std::string_view part = raw(4);
    for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(part[i])} << (8 * i);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(raw(1).front());
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("a number does not end");
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  /// How many of something follow, each of at least `bytes`.
  std::size_t count(std::size_t bytes) {
    const std::uint64_t value = varint();
    if (value > left() / bytes) fail("ends early: " + std::to_string(value) + " were to follow");
    return static_cast<std::size_t>(value);
  }
  std::string_view text() { return raw(varint()); }

 private:
  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

TraceRecord readRecord(Reader& in, const Trace& trace, std::int64_t before) {
  TraceRecord record;
  const std::uint64_t head = in.varint(), mask = in.varint();
  if (head >> 4 > 0xff) in.fail("no such kind of record");
  record.kind = static_cast<RecordKind>(head & 15);
  record.flags = static_cast<std::uint8_t>(head >> 4);
  record.startNs =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(in.zigzag()));
  int bit = 0;
  visitMembers(record, [&]<class Value>(Value& member) {
    if ((mask >> bit++ & 1) == 0) return;
    const std::int64_t value = in.zigzag();
    if constexpr (std::is_same_v<Value, std::uint64_t>) {
      member = static_cast<std::uint64_t>(value);
    } else {
      if (!std::in_range<Value>(value)) in.fail("the number " + std::to_string(value) + " is out of range");
      member = static_cast<Value>(value);
    }
  });
  if (mask >> bit != 0) in.fail("a record has members that this version does not know");
  for (const StringId text : {record.name, record.role, record.phase, record.detail, record.shape})
    if (text >= trace.strings.size()) in.fail("there is no text " + std::to_string(text));
  if (record.file >= trace.files.size()) in.fail("there is no file " + std::to_string(record.file));
  return record;
}

void readHead(Reader& in, const std::string& name, Trace& trace) {
  const JsonDocument document = JsonDocument::parse(in.text(), name + ": head", JsonDocument::Comments::kRefuse);
  Head head = recordFromJson<Head>(document.root(), name + ": head");
  for (FileEntry& entry : head.files) {
    for (const std::string& kind : entry.file.capture.kinds)
      if (!recordKindFromName(kind)) in.fail("there is no kind of record \"" + printable(kind) + "\"");
    entry.file.deviceNames = byNumber(entry.devices, name + ": head");
    entry.file.threadNames = byNumber(entry.threads, name + ": head");
    trace.files.push_back(std::move(entry.file));
  }
}

}  // namespace

std::string binaryTraceBytes(const Trace& trace) {
  Writer out;
  out.raw(kMagic);
  out.fixed32(kVersion);
  Head head;
  for (const TraceFile& file : trace.files)
    head.files.push_back({file, byText(file.deviceNames), byText(file.threadNames)});
  out.text(oneLine(recordToJson(head)));
  out.varint(trace.strings.size());
  for (std::size_t id = 0; id < trace.strings.size(); ++id) out.text(trace.text(static_cast<StringId>(id)));
  out.varint(trace.records.size());
  std::int64_t before = 0;
  for (const TraceRecord& record : trace.records) writeRecord(out, record, std::exchange(before, record.startNs));
  std::string bytes = out.take();
  return bytes + hashText(bytes);
}

Trace parseBinaryTrace(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeaderBytes + kDigestBytes)
    throwBadInput(name, "not a compact trace, or cut off");
  Reader in(bytes.substr(0, bytes.size() - kDigestBytes), name);
  in.raw(kMagic.size());
  if (const std::uint32_t version = in.fixed32(); version != kVersion)
    throwBadInput(name, "version " + std::to_string(version) + " is not known", "this version reads 1");
  const std::string_view content = bytes.substr(0, bytes.size() - kDigestBytes);
  if (hashText(content) != bytes.substr(content.size()))
    throwBadInput(name, "was cut off or damaged: its hash is another");
  Trace trace;
  readHead(in, name, trace);
  const std::size_t texts = in.count(1);
  for (std::size_t id = 0; id < texts; ++id)
    if (trace.strings.intern(in.text()) != id) in.fail("text " + std::to_string(id) + " is there twice");
  const std::size_t records = in.count(3);
  trace.records.reserve(records);
  for (std::size_t i = 0; i < records; ++i) {
    TraceRecord record = readRecord(in, trace, i == 0 ? 0 : trace.records.back().startNs);
    record.place = record.index = static_cast<std::uint32_t>(i);
    ++trace.files[record.file].events;
    trace.records.push_back(record);
  }
  if (in.left() > 0) in.fail("more follows behind the last record");
  return trace;
}

void writeBinaryTrace(const Trace& trace, const std::string& path) {
  writeFileAtomically(path, binaryTraceBytes(trace));
}

Trace readBinaryTrace(const std::string& path) {
  const std::string bytes = readFile(path, kMaxBytes);
  Trace trace = parseBinaryTrace(bytes, path);
  for (TraceFile& file : trace.files) {
    file.path = path;
    file.bytes = bytes.size();
  }
  return trace;
}

bool isBinaryTrace(const std::string& path) {
  std::string start(kMagic.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kMagic;
}

}  // namespace redraft::harness
