#include "harness/trace/kineto_capture.h"

#include "base/error.h"
#include "base/record.h"
#include "harness/trace/kineto_keys.h"

namespace redraft::harness {
namespace {

constexpr const char* kCaptureSchema = "redraft.capture/1";

/// CaptureInfo as the file has it.
struct CaptureRecord {
  std::string schema = kCaptureSchema;
  CaptureInfo info;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("source", info.source);
    visit("process", info.process);
    visit("dropped", info.dropped);
    visit("kinds", info.kinds);
    visit("canaries", info.canaries);
    visit.unless("communicators", info.communicators, std::vector<CommunicatorInfo>());
  }
};

void readCapture(const Json& json, const std::string& place, TraceFile& file) {
  const auto record = recordFromJson<CaptureRecord>(json, place);
  if (record.schema != kCaptureSchema)
    throwBadInput(place, "schema \"" + printable(record.schema) + "\" is not known",
                  std::string("this version reads ") + kCaptureSchema);
  for (const std::string& kind : record.info.kinds)
    if (!recordKindFromName(kind)) throwBadInput(place + "/kinds", "no such kind: \"" + printable(kind) + "\"");
  file.capture = record.info;
}

void readDistributed(const Json& json, TraceFile& file) {
  if (!json.is_object()) return;
  const auto integer = [&](const char* key, std::optional<std::int64_t>& into) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number_integer()) into = found->get<std::int64_t>();
  };
  integer("rank", file.rank);
  integer("world_size", file.worldSize);
}

void readDevices(const Json& json, TraceFile& file) {
  if (!json.is_array()) return;
  for (const Json& device : json) {
    if (!device.is_object() || !device.contains("id") || !device["id"].is_number_integer()) continue;
    const auto name = device.find("name");
    file.deviceNames[device["id"].get<std::int64_t>()] =
        name != device.end() && name->is_string() ? name->get<std::string>() : "";
  }
}

}  // namespace

bool isKinetoHeadKey(std::string_view key) {
  return key == kineto::kCaptureKey || key == "distributedInfo" || key == "deviceProperties";
}

void readKinetoKey(std::string_view key, std::string_view json, const std::string& place, TraceFile& file) {
  if (!isKinetoHeadKey(key)) return;
  const JsonDocument document = JsonDocument::parse(json, place, JsonDocument::Comments::kRefuse);
  if (key == kineto::kCaptureKey) readCapture(document.root(), place, file);
  if (key == "distributedInfo") readDistributed(document.root(), file);
  if (key == "deviceProperties") readDevices(document.root(), file);
}

std::string captureJson(const CaptureInfo& capture) {
  return oneLine(recordToJson(CaptureRecord{kCaptureSchema, capture}));
}

}  // namespace redraft::harness
