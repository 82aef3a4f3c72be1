// The shipped scenario files against the published JSON Schema, as an editor or a validator would hold them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "scenarios/spec/schema.h"
#include "tests/paths.h"

namespace redraft::scenarios {
namespace {

/// Of JSON Schema 2020-12, what the published schema uses. Any other keyword is a problem: nothing passes unchecked.
class SchemaCheck {
 public:
  std::vector<std::string> problems(const Json& schema, const Json& value) {
    found_.clear();
    check(schema, value, "");
    return found_;
  }

 private:
  void check(const Json& schema, const Json& value, const std::string& at) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (!kKnown.contains(keyword)) fail(at, "the schema uses \"" + keyword + "\"");
    }
    if (schema.contains("type") && !isOfType(schema["type"], value)) return fail(at, "wrong type");
    if (schema.contains("const") && value != schema["const"]) fail(at, "not the constant");
    if (schema.contains("enum") && std::count(schema["enum"].begin(), schema["enum"].end(), value) == 0)
      fail(at, "not one of the choices");
    if (value.is_number()) checkNumber(schema, value.get<double>(), at);
    if (value.is_array()) checkArray(schema, value, at);
    if (value.is_object()) checkObject(schema, value, at);
  }

  static bool isOfType(const Json& types, const Json& value) {
    const auto is = [&](const std::string& type) {
      return (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) ||
             (type == "string" && value.is_string()) || (type == "array" && value.is_array()) ||
             (type == "object" && value.is_object()) || (type == "integer" && value.is_number_integer()) ||
             (type == "number" && value.is_number());
    };
    if (types.is_string()) return is(types.get<std::string>());
    return std::any_of(types.begin(), types.end(), [&](const Json& type) { return is(type.get<std::string>()); });
  }

  void checkNumber(const Json& schema, double value, const std::string& at) {
    if (schema.contains("minimum") && value < schema["minimum"].get<double>()) fail(at, "below the minimum");
    if (schema.contains("maximum") && value > schema["maximum"].get<double>()) fail(at, "above the maximum");
  }

  void checkArray(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<std::size_t>()) fail(at, "too few items");
    if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>()) fail(at, "too many items");
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i) check(schema["items"], value[i], at + "/" + std::to_string(i));
  }

  void checkObject(const Json& schema, const Json& value, const std::string& at) {
    for (const Json& key : schema.value("required", Json::array())) {
      if (!value.contains(key.get<std::string>())) fail(at, "lacks " + key.dump());
    }
    const Json properties = schema.value("properties", Json::object());
    const Json others = schema.value("additionalProperties", Json(true));
    for (const auto& [key, member] : value.items()) {
      if (properties.contains(key)) {
        check(properties[key], member, at + "/" + key);
      } else if (others.is_object()) {
        check(others, member, at + "/" + key);
      } else if (others == false) {
        fail(at + "/" + key, "not in the schema");
      }
    }
  }

  void fail(const std::string& at, const std::string& what) { found_.push_back(at + ": " + what); }

  static inline const std::set<std::string> kKnown = {
      "$schema", "title",   "description", "default",  "type",     "const",      "enum",
      "minimum", "maximum", "minItems",    "maxItems", "required", "properties", "additionalProperties",
      "items"};

  std::vector<std::string> found_;
};

std::vector<std::string> problemsOf(const std::string& text) {
  return SchemaCheck().problems(scenarioSchema(), JsonDocument::parse(text, "probe").root());
}

TEST(SchemaFilesTest, EveryShippedScenarioFileHoldsToThePublishedSchema) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(kSourceFolder) + "/scenarios/files")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    EXPECT_EQ(problemsOf(readFile(entry.path().string())), std::vector<std::string>{}) << entry.path();
  }
  EXPECT_GE(files, 15u);
}

TEST(SchemaFilesTest, ASchemaThatHoldsGoodFilesRefusesBadOnes) {
  const std::string head = R"({"schema": "redraft.scenario/1", )";
  EXPECT_EQ(problemsOf(head + R"("training": {"steps": 1}, "expect": null})"), std::vector<std::string>{});
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"({"training": {}})", ": lacks \"schema\""},
           {R"({"schema": "redraft.scenario/2"})", "/schema: not the constant"},
           {head + R"("trainings": {}})", "/trainings: not in the schema"},
           {head + R"("training": {"steps": 0}})", "/training/steps: below the minimum"},
           {head + R"("training": {"steps": 1.5}})", "/training/steps: wrong type"},
           {head + R"("training": {"loss": "mse"}})", "/training/loss: not one of the choices"},
           {head + R"("topology": {"roles": {"drafter": 6}}})", "/topology/roles/drafter: wrong type"},
           {head + R"("topology": {"copies": [["target"]]}})", "/topology/copies/0: too few items"},
           {head + R"("matrix": {"seed": []}})", "/matrix/seed: too few items"}}) {
    EXPECT_EQ(problemsOf(text), std::vector<std::string>{problem}) << text;
  }
}

}  // namespace
}  // namespace redraft::scenarios
