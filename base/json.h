#pragma once
// JSON that remembers the line of every value, and typed access that names file, line and key when it fails.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace redraft {

using Json = nlohmann::ordered_json;

/// A parsed document. Values keep their order. Throws Error(kBadInput) with file and line on a syntax error, a
/// duplicate key, a nesting deeper than 64, invalid UTF-8, or a document that ends early.
class JsonDocument {
 public:
  enum class Comments { kRefuse, kAllow };

  static JsonDocument parse(std::string_view text, std::string name, Comments comments = Comments::kAllow);
  /// Reads at most maxBytes; a larger file is an error, not an allocation.
  static JsonDocument load(const std::string& path, Comments comments = Comments::kAllow,
                           std::size_t maxBytes = 64u << 20);

  const Json& root() const { return *root_; }
  const std::string& name() const { return name_; }
  /// 1-based line of the value at a JSON pointer ("" is the root); the line of its nearest existing ancestor otherwise.
  /// Walks the document: for messages.
  int line(const std::string& pointer) const;

 private:
  std::string name_;
  std::shared_ptr<const Json> root_;
  std::shared_ptr<const std::vector<int>> lines_;  // of every value, in document order
};

/// A key as one token of a JSON pointer (RFC 6901: ~0 for ~, ~1 for /).
std::string escapePointer(std::string_view key);

/// A view of one object in a document: typed reads by key, then finish(), which refuses keys that nobody asked for and
/// proposes the nearest valid one. Errors are Error(kBadInput) with place "FILE:LINE: /pointer". The document must
/// outlive the view.
class JsonReader {
 public:
  explicit JsonReader(const JsonDocument& document, std::string pointer = "");
  explicit JsonReader(JsonDocument&& document, std::string pointer = "") = delete;

  bool has(const std::string& key) const;
  /// Reads throw when the key is missing (without a fallback), has another type, or is out of [low, high].
  std::string string(const std::string& key);
  std::string string(const std::string& key, std::string fallback);
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high);
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t fallback);
  double number(const std::string& key, double low, double high);
  double number(const std::string& key, double low, double high, double fallback);
  bool boolean(const std::string& key, bool fallback);
  std::vector<std::int64_t> integers(const std::string& key, std::int64_t low, std::int64_t high);
  std::vector<std::string> strings(const std::string& key);
  /// One of `allowed`; the error lists them and the nearest.
  std::string choice(const std::string& key, const std::vector<std::string>& allowed, std::string fallback);
  JsonReader object(const std::string& key);
  std::vector<JsonReader> objects(const std::string& key);
  /// The raw value, marked as read.
  const Json& value(const std::string& key);
  /// Marks a key as known without reading it.
  void ignore(const std::string& key);
  /// Throws on any key that was neither read nor ignored.
  void finish() const;

  [[noreturn]] void fail(const std::string& key, const std::string& message, const std::string& remedy = "") const;
  std::string place(const std::string& key = "") const;
  const Json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }

 private:
  const Json* find(const std::string& key);
  const Json& require(const std::string& key);
  std::string pointerTo(const std::string& key) const;
  std::string stringAt(const Json& value, const std::string& pointer) const;
  std::int64_t integerAt(const Json& value, const std::string& pointer, std::int64_t low, std::int64_t high) const;
  const Json& arrayAt(const std::string& key);
  [[noreturn]] void failAt(const std::string& pointer, const std::string& message, const std::string& remedy) const;

  const JsonDocument* document_;
  std::string pointer_;
  const Json* value_;
  std::vector<std::string> known_;
};

/// A double as a hex float string ("0x1.8p+1", "-0x0p+0", "inf", "nan"), and back; exact but for the payload of a NaN.
/// Throws std::invalid_argument on anything else. Independent of the locale.
std::string toHexFloat(double value);
double fromHexFloat(std::string_view text);

}  // namespace redraft
