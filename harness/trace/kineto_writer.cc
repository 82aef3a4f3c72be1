#include "harness/trace/kineto_writer.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/record.h"
#include "harness/trace/kineto_capture.h"
#include "harness/trace/kineto_keys.h"
#include "harness/trace/launch_shape.h"

namespace redraft::harness {
namespace {

const char* categoryOf(const TraceRecord& record) {
  if (record.kind == RecordKind::kApi && record.has(kDriverApi)) return "cuda_driver";
  if (record.kind == RecordKind::kAllocation) return nullptr;
  for (const auto& [name, kind] : kineto::kCategories)
    if (kind == record.kind) return name.data();
  return nullptr;
}

/// Microseconds with three digits, as Kineto writes them.
std::string microseconds(std::int64_t nanos) {
  char text[40];
  const std::int64_t whole = nanos / 1000, rest = nanos % 1000;
  std::snprintf(text, sizeof text, "%s%lld.%03lld", nanos < 0 ? "-" : "", static_cast<long long>(std::abs(whole)),
                static_cast<long long>(std::abs(rest)));
  return text;
}

std::string quotedText(const std::string& text) { return oneLine(Json(text)); }

class FileWriter {
 public:
  FileWriter(const Trace& trace, std::size_t file) : trace_(trace), file_(file) {}

  std::string text() {
    head();
    metadata();
    for (const TraceRecord& record : trace_.records)
      if (record.file == file_) event(record);
    out_ += "\n  ],\n  \"traceName\": \"redraft\"\n}\n";
    return std::move(out_);
  }

 private:
  void head() {
    const TraceFile& file = trace_.files[file_];
    out_ += "{\n  \"schemaVersion\": 1,\n";
    if (!file.capture.source.empty())
      out_ += "  \"" + std::string(kineto::kCaptureKey) + "\": " + captureJson(file.capture) + ",\n";
    Json devices = Json::array();
    for (const auto& [id, name] : file.deviceNames) devices.push_back({{"id", id}, {"name", name}});
    if (!devices.empty()) out_ += "  \"deviceProperties\": " + oneLine(devices) + ",\n";
    // HTA looks for "rank": with white space behind the colon.
    if (file.rank)
      out_ += "  \"distributedInfo\": {\"backend\": \"\", \"rank\": " + std::to_string(*file.rank) +
              ", \"world_size\": " + std::to_string(file.worldSize.value_or(1)) + "},\n";
    out_ += "  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [\n";
  }

  void begin() { out_ += std::exchange(first_, false) ? "  {" : ",\n  {"; }

  void name(const char* what, std::int64_t pid, std::int64_t tid, const std::string& text) {
    begin();
    out_ += "\"ph\": \"M\", \"name\": \"" + std::string(what) + "\", \"pid\": " + std::to_string(pid) +
            ", \"tid\": " + std::to_string(tid) + ", \"ts\": 0.000, \"args\": {\"name\": " + quotedText(text) + "}}";
  }

  /// First, because HTA cannot correlate the event of index 0.
  void metadata() {
    const TraceFile& file = trace_.files[file_];
    name("process_name", file.capture.process, 0, "redraft-runner");
    for (const auto& [thread, text] : file.threadNames) name("thread_name", file.capture.process, thread, text);
    std::set<std::pair<std::int32_t, std::int32_t>> streams;
    for (const TraceRecord& record : trace_.records)
      if (record.file == file_ && isDeviceWork(record.kind)) streams.insert({record.device, record.stream});
    for (const auto& [device, stream] : streams) {
      name("process_name", device, 0, "device " + std::to_string(device));
      name("thread_name", device, stream, "stream " + std::to_string(stream));
    }
  }

  void arguments(const TraceRecord& record, bool isThreads) {
    static const TraceRecord kAbsent;
    bool first = out_.back() == '{';
    const auto key = [&](std::string_view name) {
      out_ += (std::exchange(first, false) ? "\"" : ", \"") + std::string(name) + "\": ";
    };
    kineto::visitNumbers([&]<class Value>(std::string_view name, Value TraceRecord::*member) {
      if (record.*member == kAbsent.*member || (isThreads && name == "thread")) return;
      key(record.kind == RecordKind::kOverhead && name == "correlation" ? kineto::kOverheadCall : name);
      out_ += std::to_string(record.*member);
    });
    StringId TraceRecord::*last = nullptr;  // of two spellings the first
    kineto::visitTexts([&](std::string_view name, StringId TraceRecord::*member) {
      if (record.*member == 0 || member == last) return;
      last = member;
      key(name);
      out_ += quotedText(trace_.text(record.*member));
    });
    const auto [grid, block] = listsOfShape(trace_.text(record.shape));
    if (grid.empty()) return;
    key(kineto::kGrid);
    out_ += grid;
    key(kineto::kBlock);
    out_ += block;
  }

  void event(const TraceRecord& record) {
    const char* category = categoryOf(record);
    const bool onDevice = isDeviceWork(record.kind);
    begin();
    if (category == nullptr) {
      out_ += "\"ph\": \"M\", \"name\": \"" + std::string(kineto::kRecordEvent) +
              "\", \"pid\": " + std::to_string(std::max(0, record.device)) +
              ", \"ts\": " + microseconds(record.startNs) + ", \"dur\": " + microseconds(record.durationNs) +
              ", \"args\": {\"kind\": \"" + recordKindName(record.kind) +
              "\", \"name\": " + quotedText(trace_.text(record.name));
      arguments(record, false);
    } else {
      out_ += "\"ph\": \"X\", \"cat\": \"" + std::string(category) +
              "\", \"name\": " + quotedText(trace_.text(record.name)) +
              ", \"pid\": " + std::to_string(onDevice ? record.device : trace_.files[file_].capture.process) +
              ", \"tid\": " + std::to_string(onDevice ? record.stream : record.thread) +
              ", \"ts\": " + microseconds(record.startNs) + ", \"dur\": " + microseconds(record.durationNs) +
              ", \"args\": {";
      arguments(record, true);
    }
    out_ += "}}";
  }

  const Trace& trace_;
  const std::size_t file_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string kinetoText(const Trace& trace, std::size_t file) { return FileWriter(trace, file).text(); }

std::vector<std::string> writeKinetoFiles(const Trace& trace, const std::string& folder) {
  std::vector<std::string> names;
  for (const Trace& device : splitByDevice(trace)) {
    names.push_back(joinPath(folder, "device-" + std::to_string(*device.files.front().rank) + ".kineto.json"));
    writeFileAtomically(names.back(), kinetoText(device, 0));
  }
  return names;
}

}  // namespace redraft::harness
