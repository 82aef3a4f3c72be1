#pragma once
// Writes the fields of scenario_fields.h as resolved JSON: every default written out, nothing that is absent.

#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/spec/scenario_fields.h"

namespace redraft::scenarios {

class FieldWriter {
 public:
  explicit FieldWriter(Json& json) : json_(json) {}

  template <class T>
  void integer(const char* key, T& value, std::int64_t, std::int64_t, const char*) {
    json_[key] = value;
  }
  void number(const char* key, double& value, double, double, const char*) { json_[key] = value; }
  void optionalNumber(const char* key, std::optional<double>& value, double, double, const char*) {
    if (value) json_[key] = *value;
  }
  void boolean(const char* key, bool& value, const char*) { json_[key] = value; }
  void text(const char* key, std::string& value, const char*) {
    if (!value.empty()) json_[key] = value;
  }
  void choice(const char* key, std::string& value, const std::vector<std::string>&, const char*) { json_[key] = value; }
  void integers(const char* key, std::vector<int>& value, std::int64_t, std::int64_t, const char*) {
    if (!value.empty()) json_[key] = value;
  }
  void json(const char* key, Json& value, const char*) {
    if (!value.is_null()) json_[key] = value;
  }
  template <class T>
  void object(const char* key, T& value, const char*) {
    json_[key] = Json::object();
    FieldWriter visitor(json_[key]);
    visitFields(visitor, value);
  }
  template <class T>
  void optionalObject(const char* key, std::optional<T>& value, const char* meaning) {
    if (value) object(key, *value, meaning);
  }
  void roles(const char* key, std::map<std::string, std::vector<int>>& value, std::int64_t, const char*) {
    json_[key] = Json::object();
    for (const auto& [role, devices] : value) json_[key][role] = devices;
  }
  void edges(const char* key, std::vector<std::pair<std::string, std::string>>& value, const char*) {
    json_[key] = Json::array();
    for (const auto& [from, to] : value) json_[key].push_back({from, to});
  }
  void fault(const char* key, std::optional<FaultSpec>& value, const char*) {
    if (!value) return;
    json_[key] = value->parameters;
    json_[key]["name"] = value->name;
  }
  void golden(const char* key, std::string& value, const char*) {
    if (value.empty())
      json_[key] = false;
    else
      json_[key] = value;
  }

 private:
  Json& json_;
};

}  // namespace redraft::scenarios
