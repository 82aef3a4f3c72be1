#pragma once
// The header of a safetensors file, for the .cc files of base.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/internal/json_sax.h"
#include "base/safetensors.h"

namespace redraft::internal {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kLongestHeader = 100'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";

const Dtype* dtypeOfName(std::string_view name);  // nullptr when unknown
std::string dtypeNames();
/// Bytes of a tensor; false when an extent is negative or the product exceeds 2^63 - 1.
bool tensorBytes(Dtype dtype, const std::vector<std::int64_t>& shape, std::uint64_t* bytes);
[[noreturn]] void throwNoTensor(const std::string& path, const std::string& name,
                                const std::vector<std::string>& names);

/// Reads {"NAME": {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …, "__metadata__": {KEY: TEXT}} without
/// making a document of it, and refuses everything else.
class HeaderReader : public JsonSax {
 public:
  /// `header` and `path` must outlive the reader.
  HeaderReader(std::string_view header, const std::string& path) : JsonSax(header), path_(path) {}

  /// Fills the results; their views point into `data`, the bytes after the header.
  void read(std::string_view data);

  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(std::int64_t) override { refuse("a negative number"); }
  bool number_float(double, const std::string&) override { refuse("a number that is no integer"); }
  bool number_unsigned(std::uint64_t value) override;
  bool string(std::string& value) override;
  bool binary(Json::binary_t&) override { refuse("bytes"); }
  bool start_object(std::size_t) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool key(std::string& key) override;

 protected:
  std::string errorPlace() override { return path_ + ": header"; }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };
  enum Field : unsigned { kNone = 0, kDtype = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };
  struct Entry {
    std::map<std::string, TensorView>::iterator tensor;
    std::vector<std::uint64_t> offsets;
  };

  [[noreturn]] void refuse(const char* what);
  [[noreturn]] void failTensor(const Entry& entry, const std::string& message);
  void tensorField(const std::string& key);
  void locate(const Entry& entry, std::string_view data);

  const std::string& path_;
  std::vector<Entry> entries_;
  Place place_ = Place::kOutside;
  Field field_ = kNone;  // of the tensor in hand: the key just read
  unsigned seen_ = 0;    // of the tensor in hand: its keys so far
  std::string key_;      // of the metadata in hand
  bool isMetadata_ = false;
  bool hasMetadata_ = false;
};

}  // namespace redraft::internal
