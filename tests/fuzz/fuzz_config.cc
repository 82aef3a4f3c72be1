// config.json of a target and of a drafter.
#include <string>

#include "model/config.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/may_refuse.h"

namespace redraft::model {
namespace {

constexpr const char* kName = "config.json";

/// Reads the text; what is accepted must come back from what is written of it.
template <class Read, class Write>
void readConfig(std::string_view text, Read read, Write write) {
  fuzz::mayRefuse(kName, [&] {
    const JsonDocument document = JsonDocument::parse(text, kName);
    const Json json = write(read(JsonReader(document)));
    const JsonDocument written = JsonDocument::parse(json.dump(), "written.json");
    REDRAFT_CHECK(write(read(JsonReader(written))) == json, "a configuration did not survive writing");
  });
}

}  // namespace
}  // namespace redraft::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace redraft::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  readConfig(text, readTargetConfig, targetConfigJson);
  readConfig(text, readDrafterConfig, drafterConfigJson);
  return 0;
}
