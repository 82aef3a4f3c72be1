// A scenario file over a whole one that it may extend, and the resolved scenario of a run folder.
#include <string>

#include "base/error.h"
#include "scenarios/spec/store.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/input_folder.h"

namespace redraft::scenarios {
namespace {

constexpr const char* kBase = R"({"schema": "redraft.scenario/1", "abstract": true,
 "topology": {"devices": 4, "roles": {"target": [0], "drafter": [1, 2]}},
 "target": {"config": {"hidden_size": 8}}, "drafter": {"hidden_size": 8}, "data": {"path": "data/x.txt"}})";

/// What was accepted survives the way into a run folder and back.
void checkResolved(Scenario scenario) {
  relocateData(scenario);
  const Json json = resolvedScenario(scenario);
  const Scenario again = parseResolvedScenario(JsonDocument::parse(json.dump(), "again.json"));
  REDRAFT_CHECK(resolvedScenario(again) == json, "a resolved scenario did not survive writing");
  REDRAFT_CHECK(configurationHash(again) == configurationHash(scenario), "nor did its hash");
}

void readScenario(std::string_view bytes) {
  static const fuzz::InputFolder input;
  static const bool laid = [] {
    std::filesystem::create_directory(input.file("files"));
    input.write("files/base.json", kBase);
    return true;
  }();
  REDRAFT_CHECK(laid, "no folder");
  input.write("files/fuzz.json", bytes);
  fuzz::mayRefuse(input.path(), [] {
    for (const StoredScenario& each : loadVariants(input.path(), "fuzz")) checkResolved(each.scenario);
  });
  fuzz::mayRefuse(input.path(), [] { checkResolved(loadResolvedScenario(input.file("files/fuzz.json"))); });
}

}  // namespace
}  // namespace redraft::scenarios

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::scenarios::readScenario({reinterpret_cast<const char*>(data), size});
  return 0;
}
