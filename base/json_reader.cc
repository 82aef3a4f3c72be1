#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace redraft {
namespace {

std::string typeOf(const Json& value) {
  if (value.is_number_float()) return "a number with a fraction or exponent";
  if (value.is_number()) return "an integer";
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_string()) return "a string";
  return value.is_array() ? "an array" : "an object";
}

std::string expected(const std::string& what, const Json& value) {
  return "expected " + what + ", found " + typeOf(value);
}

std::string quotedList(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "\"" : ", \"") + printable(word) + "\"";
  return text;
}

std::string proposal(const std::string& word, const std::vector<std::string>& valid) {
  const std::string close = nearest(word, valid);
  if (!close.empty()) return "did you mean \"" + printable(close) + "\"? valid: " + quotedList(valid);
  return valid.empty() ? "remove it" : "valid: " + quotedList(valid);
}

}  // namespace

JsonReader::JsonReader(const JsonDocument& document, std::string pointer)
    : document_(&document), pointer_(std::move(pointer)), value_(nullptr) {
  try {
    value_ = &document.root().at(Json::json_pointer(pointer_));
  } catch (const Json::exception&) {
    failAt(pointer_, "missing", "add an object here");
  }
  if (!value_->is_object()) failAt(pointer_, expected("an object", *value_), "write { … }");
}

std::string JsonReader::pointerTo(const std::string& key) const { return pointer_ + "/" + escapePointer(key); }

bool JsonReader::has(const std::string& key) const { return value_->contains(key); }

const Json* JsonReader::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const auto found = value_->find(key);
  return found == value_->end() ? nullptr : &*found;
}

const Json& JsonReader::require(const std::string& key) {
  if (const Json* found = find(key)) return *found;
  std::vector<std::string> others;
  for (const auto& [name, unused] : value_->items()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) others.push_back(name);
  }
  const std::string close = nearest(key, others);
  failAt(pointer_, "missing key \"" + key + "\"",
         close.empty() ? "add it" : "the nearest key here is \"" + printable(close) + "\": is it meant?");
}

std::string JsonReader::stringAt(const Json& value, const std::string& pointer) const {
  if (!value.is_string()) failAt(pointer, expected("a string", value), "write it in double quotes");
  return value.get<std::string>();
}

std::int64_t JsonReader::integerAt(const Json& value, const std::string& pointer, std::int64_t low,
                                   std::int64_t high) const {
  const std::string range = "from " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.is_number_integer()) failAt(pointer, expected("an integer", value), "write an integer " + range);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool tooLarge = value.is_number_unsigned() && value.get<std::uint64_t>() > kMost;
  if (tooLarge || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    failAt(pointer, value.dump() + " is out of range", "write an integer " + range);
  }
  return value.get<std::int64_t>();
}

std::string JsonReader::string(const std::string& key) { return stringAt(require(key), pointerTo(key)); }

std::string JsonReader::string(const std::string& key, std::string fallback) {
  const Json* found = find(key);
  return found == nullptr ? std::move(fallback) : stringAt(*found, pointerTo(key));
}

std::int64_t JsonReader::integer(const std::string& key, std::int64_t low, std::int64_t high) {
  return integerAt(require(key), pointerTo(key), low, high);
}

std::int64_t JsonReader::integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
  const Json* found = find(key);
  return found == nullptr ? fallback : integerAt(*found, pointerTo(key), low, high);
}

double JsonReader::number(const std::string& key, double low, double high) {
  const Json& value = require(key);
  const std::string range = "from " + Json(low).dump() + " to " + Json(high).dump();
  if (!value.is_number()) failAt(pointerTo(key), expected("a number", value), "write a number " + range);
  const double number = value.get<double>();
  if (!(number >= low && number <= high)) {
    failAt(pointerTo(key), value.dump() + " is out of range", "write a number " + range);
  }
  return number;
}

double JsonReader::number(const std::string& key, double low, double high, double fallback) {
  return find(key) == nullptr ? fallback : number(key, low, high);
}

bool JsonReader::boolean(const std::string& key, bool fallback) {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) failAt(pointerTo(key), expected("a boolean", *found), "write true or false");
  return found->get<bool>();
}

const Json& JsonReader::arrayAt(const std::string& key) {
  const Json& value = require(key);
  if (!value.is_array()) failAt(pointerTo(key), expected("an array", value), "write [ … ]");
  return value;
}

std::vector<std::int64_t> JsonReader::integers(const std::string& key, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values;
  const std::string prefix = pointerTo(key) + "/";
  for (const Json& value : arrayAt(key)) {
    values.push_back(integerAt(value, prefix + std::to_string(values.size()), low, high));
  }
  return values;
}

std::vector<std::string> JsonReader::strings(const std::string& key) {
  std::vector<std::string> values;
  const std::string prefix = pointerTo(key) + "/";
  for (const Json& value : arrayAt(key)) values.push_back(stringAt(value, prefix + std::to_string(values.size())));
  return values;
}

std::string JsonReader::choice(const std::string& key, const std::vector<std::string>& allowed, std::string fallback) {
  std::string value = string(key, std::move(fallback));
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    failAt(pointerTo(key), "\"" + printable(value) + "\" is not one of the choices", proposal(value, allowed));
  }
  return value;
}

JsonReader JsonReader::object(const std::string& key) {
  require(key);
  return JsonReader(*document_, pointerTo(key));
}

std::vector<JsonReader> JsonReader::objects(const std::string& key) {
  std::vector<JsonReader> readers;
  const std::string prefix = pointerTo(key) + "/";
  const std::size_t count = arrayAt(key).size();
  for (std::size_t i = 0; i < count; ++i) readers.emplace_back(*document_, prefix + std::to_string(i));
  return readers;
}

const Json& JsonReader::value(const std::string& key) { return require(key); }

void JsonReader::ignore(const std::string& key) { find(key); }

void JsonReader::finish() const {
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::vector<std::string> valid;
    for (const std::string& name : known_) {
      if (!has(name)) valid.push_back(name);
    }
    failAt(pointerTo(key), "unknown key", proposal(key, valid));
  }
}

void JsonReader::fail(const std::string& key, const std::string& message, const std::string& remedy) const {
  throwBadInput(place(key), message, remedy);
}

void JsonReader::failAt(const std::string& pointer, const std::string& message, const std::string& remedy) const {
  const std::string place = document_->name() + ":" + std::to_string(document_->line(pointer));
  throwBadInput(pointer.empty() ? place : place + ": " + printable(pointer), message, remedy);
}

std::string JsonReader::place(const std::string& key) const {
  const std::string pointer = key.empty() ? pointer_ : pointerTo(key);
  const std::string place = document_->name() + ":" + std::to_string(document_->line(pointer));
  return pointer.empty() ? place : place + ": " + printable(pointer);
}

}  // namespace redraft
