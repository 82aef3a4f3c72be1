#pragma once
// One scenario file, read and checked by itself: every key is known, every value has its type and range.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/spec/file_keys.h"

namespace redraft::scenarios {

struct ScenarioFile {
  std::string name;
  JsonDocument document;
  FileKeys keys;
  std::vector<std::pair<std::string, std::vector<Json>>> matrix;  // key path → values

  /// Without `schema`, `extends`, `abstract` and `matrix`.
  Json own() const;
};

/// Throws Error(kBadInput) with file, line and key.
ScenarioFile loadScenarioFile(const std::string& path, const std::string& name);

/// True for "dual-drafter/half-fix": lower-case letters, digits, '-' and '_' in parts between single slashes.
bool isScenarioName(const std::string& name);

/// JSON merge patch (RFC 7386): objects merge key by key, null takes a key away, anything else replaces.
void mergePatch(Json& base, const Json& patch);

/// Sets the value at a key path ("topology.peer"), making objects on the way.
void setAtPath(Json& json, const std::string& path, const Json& value);

/// Where a JSON pointer was given: "FILE:LINE" in the nearest file of a chain, own file first.
class Provenance {
 public:
  explicit Provenance(std::vector<const ScenarioFile*> chain) : chain_(std::move(chain)) {}
  std::string place(const std::string& pointer) const;

 private:
  std::vector<const ScenarioFile*> chain_;
};

using PlaceOf = std::function<std::string(const std::string& pointer)>;

/// What holds between keys: roles on existing devices, one source of the target, enough micro-batches … Throws
/// Error(kBadInput) with placeOf(pointer).
void checkScenario(const Scenario& scenario, const PlaceOf& placeOf);

}  // namespace redraft::scenarios
