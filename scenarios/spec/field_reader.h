#pragma once
// Reads the fields of scenario_fields.h from JSON. A key that is absent or null leaves its member as it is.

#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/spec/scenario_fields.h"

namespace redraft::scenarios {

class FieldReader {
 public:
  explicit FieldReader(JsonReader& reader) : reader_(reader) {}

  template <class T>
  void integer(const char* key, T& value, std::int64_t low, std::int64_t high, const char*) {
    if (given(key)) value = static_cast<T>(reader_.integer(key, low, high));
  }
  void number(const char* key, double& value, double low, double high, const char*) {
    if (given(key)) value = reader_.number(key, low, high);
  }
  void optionalNumber(const char* key, std::optional<double>& value, double low, double high, const char*) {
    if (given(key)) value = reader_.number(key, low, high);
  }
  void boolean(const char* key, bool& value, const char*) {
    if (given(key)) value = reader_.boolean(key, value);
  }
  void text(const char* key, std::string& value, const char*) {
    if (given(key)) value = reader_.string(key);
  }
  void choice(const char* key, std::string& value, const std::vector<std::string>& allowed, const char*) {
    if (given(key)) value = reader_.choice(key, allowed, value);
  }
  void integers(const char* key, std::vector<int>& value, std::int64_t low, std::int64_t high, const char*) {
    if (!given(key)) return;
    value.clear();
    for (const std::int64_t each : reader_.integers(key, low, high)) value.push_back(static_cast<int>(each));
  }
  void json(const char* key, Json& value, const char*) {
    if (given(key)) value = reader_.object(key).json();
  }
  template <class T>
  void object(const char* key, T& value, const char*) {
    if (!given(key)) return;
    JsonReader inner = reader_.object(key);
    FieldReader visitor(inner);
    visitFields(visitor, value);
    inner.finish();
  }
  template <class T>
  void optionalObject(const char* key, std::optional<T>& value, const char* meaning) {
    if (!given(key)) return;
    value.emplace();
    object(key, *value, meaning);
  }
  void roles(const char* key, std::map<std::string, std::vector<int>>& value, std::int64_t devices, const char*);
  void edges(const char* key, std::vector<std::pair<std::string, std::string>>& value, const char*);
  void fault(const char* key, std::optional<FaultSpec>& value, const char*);
  void golden(const char* key, std::string& value, const char*);

 private:
  /// Marks the key as known.
  bool given(const char* key) {
    reader_.ignore(key);
    return reader_.has(key) && !reader_.json().at(key).is_null();
  }

  JsonReader& reader_;
};

}  // namespace redraft::scenarios
