#include "scenarios/spec/scenario_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "scenarios/spec/field_reader.h"

namespace redraft::scenarios {
namespace {

constexpr std::size_t kMaxScenarioBytes = 1u << 20;
constexpr std::size_t kMaxKeyPathParts = 16;
constexpr const char* kFileOnly[] = {"schema", "extends", "abstract", "suite", "matrix"};

/// Reads the keys of visitFileKeys; the scenario's own are FieldReader's.
class FileKeyReader : public FieldReader {
 public:
  FileKeyReader(JsonReader& reader, ScenarioFile& file) : FieldReader(reader), reader_(reader), file_(file) {}

  void constant(const char* key, const char* value, const char*) {
    const std::string found = reader_.string(key);
    if (found != value)
      reader_.fail(key, "the schema \"" + printable(found) + "\" is not known", std::string("write \"") + value + "\"");
  }

  void matrix(const char* key, const char*) {
    reader_.ignore(key);
    if (!reader_.has(key)) return;
    JsonReader inner = reader_.object(key);
    for (const auto& [path, values] : inner.json().items()) {
      inner.ignore(path);
      if (!values.is_array() || values.empty())
        inner.fail(path, "expected a list of values", "write {\"" + printable(path) + "\": [value, value]}");
      for (const Json& value : values) checkValue(inner, path, value);
      file_.matrix.emplace_back(path, std::vector<Json>(values.begin(), values.end()));
    }
  }

 private:
  /// A value of the matrix is checked as if it were written where it goes.
  static void checkValue(const JsonReader& reader, const std::string& path, const Json& value) {
    if (value.is_structured()) reader.fail(path, "a value of a matrix is a number, a text, true or false");
    const std::vector<std::string> parts = split(path, '.');
    const bool hasEmpty = std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
    // The bound comes before the objects that the path would make, one inside the other.
    if (hasEmpty || parts.size() > kMaxKeyPathParts)
      reader.fail(path, "not a key path", "write keys with dots between, as in \"topology.peer\"");
    Json json = Json::object();
    setAtPath(json, path, value);
    const JsonDocument document = JsonDocument::parse(json.dump(), "matrix");
    try {
      JsonReader root(document);
      FieldReader fields(root);
      Scenario scenario;
      visitFields(fields, scenario);
      root.finish();
    } catch (const Error& error) {
      reader.fail(path, value.dump() + ": " + error.message(), error.remedy());
    }
  }

  JsonReader& reader_;
  ScenarioFile& file_;
};

}  // namespace

Json ScenarioFile::own() const {
  Json json = document.root();
  for (const char* key : kFileOnly) json.erase(key);
  return json;
}

ScenarioFile loadScenarioFile(const std::string& path, const std::string& name) {
  ScenarioFile file{name, JsonDocument::load(path, JsonDocument::Comments::kAllow, kMaxScenarioBytes), {}, {}};
  JsonReader root(file.document);
  FileKeyReader reader(root, file);
  visitFileKeys(reader, file.keys);
  Scenario scenario;
  visitFields(static_cast<FieldReader&>(reader), scenario);
  root.finish();
  if (!file.keys.extends.empty() && !isScenarioName(file.keys.extends))
    root.fail("extends", "\"" + printable(file.keys.extends) + "\" is not a scenario's name",
              "write a path below files/ without .json, as in \"dual-drafter\"");
  return file;
}

bool isScenarioName(const std::string& name) {
  if (name.empty() || name.size() > 200) return false;
  const auto isPart = [](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
  };
  const std::vector<std::string> parts = split(name, '/');
  return std::all_of(parts.begin(), parts.end(), isPart);
}

void mergePatch(Json& base, const Json& patch) {
  if (!patch.is_object()) {
    base = patch;
    return;
  }
  if (!base.is_object()) base = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null())
      base.erase(key);
    else
      mergePatch(base[key], value);
  }
}

void setAtPath(Json& json, const std::string& path, const Json& value) {
  Json* at = &json;
  for (const std::string& part : split(path, '.')) {
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[part];
  }
  *at = value;
}

std::string Provenance::place(const std::string& pointer) const {
  const Json::json_pointer path(pointer);
  for (const ScenarioFile* file : chain_) {
    if (file->document.root().contains(path))
      return file->document.name() + ":" + std::to_string(file->document.line(pointer)) + ": " + pointer;
  }
  return chain_.front()->document.name() + ":1: " + pointer;
}

}  // namespace redraft::scenarios
