#pragma once
// Records: structs that declare their JSON keys once, and are written and read through the same declaration:
//
//   struct Mark {
//     std::string point;
//     std::int64_t object = 0;
//     template <class Visitor>
//     void fields(Visitor& visit) {
//       visit("point", point);
//       visit.unless("object", object, 0);  // absent in the file when it equals 0
//     }
//   };
//
// Reading is strict: a missing key, a key that no field declares and a wrong type are Error(kBadInput) with the given
// place. Doubles that are not finite are written as the strings "nan", "inf" and "-inf". An enum is written by name
// when NameTable<Enum> is specialised with `static constexpr std::pair<Enum, const char*> kNames[]`.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace redraft {

template <class Enum>
struct NameTable;

template <class Enum>
const char* enumName(Enum value) {
  for (const auto& [each, name] : NameTable<Enum>::kNames)
    if (each == value) return name;
  checkFailed(__FILE__, __LINE__, "enumName", "a value without a name");
}

template <class Enum>
std::optional<Enum> enumFromName(std::string_view text) {
  for (const auto& [each, name] : NameTable<Enum>::kNames)
    if (text == name) return each;
  return std::nullopt;
}

template <class T>
Json recordToJson(const T& record);
template <class T>
T recordFromJson(const Json& json, const std::string& place);

namespace internal {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
Json valueToJson(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return enumName(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, Json>) {
    return value;
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& each : value) array.push_back(valueToJson(each));
    return array;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, each] : value) object[key] = valueToJson(each);
    return object;
  } else {
    return recordToJson(value);
  }
}

[[noreturn]] inline void wrongType(const std::string& place, const char* expected, const Json& found) {
  throwBadInput(place, std::string("expected ") + expected + ", found " + found.type_name());
}

template <class T>
T numberFromJson(const Json& json, const std::string& place) {
  if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) wrongType(place, "true or false", json);
    return json.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (json == "nan") return std::numeric_limits<T>::quiet_NaN();
    if (json == "inf") return std::numeric_limits<T>::infinity();
    if (json == "-inf") return -std::numeric_limits<T>::infinity();
    if (!json.is_number()) wrongType(place, "a number", json);
    return json.get<T>();
  } else {
    if (!json.is_number_integer()) wrongType(place, "an integer", json);
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throwBadInput(place, "the integer " + json.dump() + " is out of range");
    return json.get<T>();
  }
}

template <class T>
T valueFromJson(const Json& json, const std::string& place) {
  if constexpr (std::is_enum_v<T>) {
    const auto value = json.is_string() ? enumFromName<T>(json.template get<std::string>()) : std::nullopt;
    if (!value) throwBadInput(place, "no such name: " + json.dump());
    return *value;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return numberFromJson<T>(json, place);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!json.is_string()) wrongType(place, "a string", json);
    return json.get<std::string>();
  } else if constexpr (std::same_as<T, Json>) {
    return json;
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) wrongType(place, "a list", json);
    T values;
    for (std::size_t i = 0; i < json.size(); ++i)
      values.push_back(valueFromJson<typename T::value_type>(json[i], place + "/" + std::to_string(i)));
    return values;
  } else if constexpr (IsMap<T>::value) {
    if (!json.is_object()) wrongType(place, "an object", json);
    T values;
    for (const auto& [key, each] : json.items())
      values.emplace(key, valueFromJson<typename T::mapped_type>(each, place + "/" + key));
    return values;
  } else {
    return recordFromJson<T>(json, place);
  }
}

class RecordWriter {
 public:
  explicit RecordWriter(Json& json) : json_(json) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (IsOptional<T>::value) {
      if (value) json_[key] = valueToJson(*value);
    } else {
      json_[key] = valueToJson(value);
    }
  }
  template <class T, class Default>
  void unless(const char* key, const T& value, const Default& absent) {
    if (!(value == static_cast<T>(absent))) (*this)(key, value);
  }

 private:
  Json& json_;
};

class RecordReader {
 public:
  RecordReader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) wrongType(place_, "an object", json);
  }

  template <class T>
  void operator()(const char* key, T& value) {
    const Json* found = find(key);
    if constexpr (IsOptional<T>::value) {
      value.reset();
      if (found != nullptr) value = valueFromJson<typename T::value_type>(*found, at(key));
    } else {
      if (found == nullptr) throwBadInput(at(key), "the key is missing");
      value = valueFromJson<T>(*found, at(key));
    }
  }
  template <class T, class Default>
  void unless(const char* key, T& value, const Default& absent) {
    const Json* found = find(key);
    value = found == nullptr ? static_cast<T>(absent) : valueFromJson<T>(*found, at(key));
  }
  /// Throws on a key that no field asked for.
  void finish() const {
    if (found_ == json_.size()) return;
    for (const auto& [key, each] : json_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        throwBadInput(place_ + "/" + key, "unknown key", nearestRemedy(key));
  }

 private:
  std::string at(const char* key) const { return place_ + "/" + key; }
  std::string nearestRemedy(const std::string& key) const {
    const std::string near = nearest(key, known_);
    return near.empty() ? "remove it" : "did you mean \"" + near + "\"?";
  }
  const Json* find(const char* key) {
    known_.emplace_back(key);
    const auto it = json_.find(key);
    if (it == json_.end()) return nullptr;
    ++found_;
    return &*it;
  }

  const Json& json_;
  std::string place_;
  std::vector<std::string> known_;
  std::size_t found_ = 0;
};

}  // namespace internal

template <class T>
Json recordToJson(const T& record) {
  Json json = Json::object();
  internal::RecordWriter writer(json);
  const_cast<T&>(record).fields(writer);  // the writer only reads
  return json;
}

template <class T>
T recordFromJson(const Json& json, const std::string& place) {
  T record;
  internal::RecordReader reader(json, place);
  record.fields(reader);
  reader.finish();
  return record;
}

/// One line of JSON. Bytes that are not UTF-8 are replaced, so that a record of a strange message is still a record.
inline std::string oneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
inline std::string pretty(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace redraft
