#include "scenarios/spec/field_reader.h"

#include "base/error.h"

namespace redraft::scenarios {

void FieldReader::roles(const char* key, std::map<std::string, std::vector<int>>& value, std::int64_t devices,
                        const char*) {
  if (!given(key)) return;
  JsonReader inner = reader_.object(key);
  value.clear();
  for (const char* role : {"target", "drafter"}) {
    if (!inner.has(role)) {
      inner.ignore(role);
      continue;
    }
    for (const std::int64_t device : inner.integers(role, 0, devices - 1))
      value[role].push_back(static_cast<int>(device));
  }
  inner.finish();
}

void FieldReader::edges(const char* key, std::vector<std::pair<std::string, std::string>>& value, const char*) {
  if (!given(key)) return;
  const Json& list = reader_.value(key);
  const auto isEdge = [](const Json& edge) {
    return edge.is_array() && edge.size() == 2 && edge[0].is_string() && edge[1].is_string();
  };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), isEdge))
    reader_.fail(key, "expected pairs of roles", "write [[\"target\", \"drafter\"]]");
  value.clear();
  for (const Json& edge : list) value.emplace_back(edge[0].get<std::string>(), edge[1].get<std::string>());
}

void FieldReader::fault(const char* key, std::optional<FaultSpec>& value, const char*) {
  if (!given(key)) return;
  JsonReader inner = reader_.object(key);
  value.emplace();
  value->name = inner.string("name", "");  // a file that extends another may give parameters alone
  for (const auto& [name, parameter] : inner.json().items())
    if (name != "name") value->parameters[name] = parameter;
}

void FieldReader::golden(const char* key, std::string& value, const char*) {
  if (!given(key)) return;
  const Json& golden = reader_.value(key);
  if (golden.is_boolean())
    value.clear();  // `true` is resolved to a name before the scenario is read whole
  else
    value = reader_.string(key);
}

}  // namespace redraft::scenarios
