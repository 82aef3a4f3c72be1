#include "scenarios/spec/schema.h"

#include <string>
#include <vector>

#include "scenarios/spec/file_keys.h"
#include "scenarios/spec/scenario_fields.h"

namespace redraft::scenarios {
namespace {

/// Describes the fields of one object. Null is allowed everywhere: in a file that extends another it takes the key
/// away.
class FieldDescriber {
 public:
  explicit FieldDescriber(Json& properties) : properties_(properties) {}

  template <class T>
  void integer(const char* key, T& value, std::int64_t low, std::int64_t high, const char* meaning) {
    Json& property = add(key, "integer", meaning);
    property["minimum"] = low;
    property["maximum"] = high;
    property["default"] = value;
  }
  void number(const char* key, double& value, double low, double high, const char* meaning) {
    std::optional<double> unset;
    optionalNumber(key, unset, low, high, meaning);
    properties_[key]["default"] = value;
  }
  void optionalNumber(const char* key, std::optional<double>&, double low, double high, const char* meaning) {
    Json& property = add(key, "number", meaning);
    property["minimum"] = low;
    property["maximum"] = high;
  }
  void boolean(const char* key, bool& value, const char* meaning) { add(key, "boolean", meaning)["default"] = value; }
  void text(const char* key, std::string&, const char* meaning) { add(key, "string", meaning); }
  void choice(const char* key, std::string& value, const std::vector<std::string>& allowed, const char* meaning) {
    Json& property = add(key, "string", meaning);
    property["enum"] = allowed;
    property["enum"].push_back(nullptr);
    property["default"] = value;
  }
  void integers(const char* key, std::vector<int>&, std::int64_t low, std::int64_t high, const char* meaning) {
    add(key, "array", meaning)["items"] = {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
  }
  void json(const char* key, Json&, const char* meaning) { add(key, "object", meaning); }
  template <class T>
  void object(const char* key, T& value, const char* meaning) {
    Json& property = add(key, "object", meaning);
    property["additionalProperties"] = false;
    FieldDescriber inner(property["properties"] = Json::object());
    visitFields(inner, value);
  }
  template <class T>
  void optionalObject(const char* key, std::optional<T>&, const char* meaning) {
    T defaults;
    object(key, defaults, meaning);
  }
  void roles(const char* key, std::map<std::string, std::vector<int>>&, std::int64_t devices, const char* meaning) {
    Json& property = add(key, "object", meaning);
    property["additionalProperties"] = false;
    for (const char* role : {"target", "drafter"}) {
      property["properties"][role] = {{"type", "array"},
                                      {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", devices - 1}}}};
    }
  }
  void edges(const char* key, std::vector<std::pair<std::string, std::string>>&, const char* meaning) {
    add(key, "array", meaning)["items"] = {
        {"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 2}, {"maxItems", 2}};
  }
  void fault(const char* key, std::optional<FaultSpec>&, const char* meaning) {
    add(key, "object", meaning)["properties"] = {{"name", {{"type", "string"}}}};
  }
  void golden(const char* key, std::string&, const char* meaning) {
    add(key, "string", meaning)["type"] = {"boolean", "string", "null"};
  }

  // Of files alone.
  void matrix(const char* key, const char* meaning) {
    add(key, "object", meaning)["additionalProperties"] = {{"type", "array"}, {"minItems", 1}};
  }
  void constant(const char* key, const char* value, const char* meaning) {
    add(key, "string", meaning)["const"] = value;
    properties_[key]["type"] = "string";
  }

 private:
  Json& add(const char* key, const char* type, const char* meaning) {
    properties_[key] = {{"description", meaning}, {"type", {type, "null"}}};
    return properties_[key];
  }

  Json& properties_;
};

}  // namespace

Json scenarioSchema() {
  Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Redraft scenario"},
      {"description", "A file under scenarios/files/. See docs/formats.md. Made by the program from its own fields."},
      {"type", "object"},
      {"required", {"schema"}},
      {"additionalProperties", false}};
  FieldDescriber describer(schema["properties"] = Json::object());
  FileKeys keys;
  visitFileKeys(describer, keys);
  Scenario defaults;
  visitFields(describer, defaults);
  return schema;
}

}  // namespace redraft::scenarios
