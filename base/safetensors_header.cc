#include "base/internal/safetensors_header.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace redraft::internal {
namespace {

constexpr std::size_t kMostDimensions = 64;
constexpr const char* kRemedy = "write the file again with a current safetensors library";

}  // namespace

void HeaderReader::failTensor(const Entry& entry, const std::string& message) {
  throwBadInput(path_ + ": tensor \"" + printable(entry.tensor->first) + "\"", message, kRemedy);
}

void HeaderReader::refuse(const char* what) {
  const std::string found = std::string("found ") + what;
  if (place_ == Place::kTensor || place_ == Place::kShape || place_ == Place::kOffsets) {
    const char* field = field_ == kDtype ? "dtype" : field_ == kShape ? "shape" : "data_offsets";
    failTensor(entries_.back(), found + " in \"" + field + "\"");
  }
  const std::string where = place_ == Place::kMetadata ? " as metadata \"" + printable(key_) + "\"" : "";
  fail(found + where, place_ == Place::kMetadata ? "metadata are strings" : kRemedy);
}

bool HeaderReader::key(std::string& key) {
  if (place_ == Place::kTensor) {
    tensorField(key);
  } else if (place_ == Place::kMetadata) {
    if (!metadata.try_emplace(key).second) fail("duplicate metadata \"" + printable(key) + "\"", kRemedy);
    key_ = key;
  } else if (key == kMetadataKey) {
    if (hasMetadata_) fail("two \"__metadata__\"", kRemedy);
    isMetadata_ = hasMetadata_ = true;
  } else {
    const auto [tensor, isNew] = tensors.try_emplace(key);
    if (!isNew) fail("two tensors \"" + printable(key) + "\"", kRemedy);
    entries_.push_back({tensor, {}});
    isMetadata_ = false;
    seen_ = 0;
  }
  return true;
}

void HeaderReader::tensorField(const std::string& key) {
  field_ = key == "dtype" ? kDtype : key == "shape" ? kShape : key == "data_offsets" ? kOffsets : kNone;
  if (field_ == kNone) failTensor(entries_.back(), "unknown key \"" + printable(key) + "\"");
  if ((seen_ & field_) != 0) failTensor(entries_.back(), "two \"" + key + "\"");
  seen_ |= field_;
}

bool HeaderReader::start_object(std::size_t) {
  if (place_ == Place::kOutside) {
    place_ = Place::kTop;
  } else if (place_ == Place::kTop) {
    place_ = isMetadata_ ? Place::kMetadata : Place::kTensor;
  } else {
    refuse("an object");
  }
  return true;
}

bool HeaderReader::end_object() {
  if (place_ == Place::kTensor && seen_ != kAllFields) {
    failTensor(entries_.back(), "lacks one of \"dtype\", \"shape\" and \"data_offsets\"");
  }
  place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  if (place_ != Place::kTensor || field_ == kDtype) refuse("an array");
  place_ = field_ == kShape ? Place::kShape : Place::kOffsets;
  return true;
}

bool HeaderReader::end_array() {
  if (place_ == Place::kOffsets && entries_.back().offsets.size() != 2) {
    failTensor(entries_.back(), "\"data_offsets\" is not [begin, end]");
  }
  place_ = Place::kTensor;
  return true;
}

bool HeaderReader::number_unsigned(std::uint64_t value) {
  if (place_ == Place::kShape) {
    auto& shape = entries_.back().tensor->second.shape;
    if (shape.size() == kMostDimensions) failTensor(entries_.back(), "has more than 64 dimensions");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) failTensor(entries_.back(), "an extent overflows");
    shape.push_back(static_cast<std::int64_t>(value));
  } else if (place_ == Place::kOffsets) {
    auto& offsets = entries_.back().offsets;
    if (offsets.size() == 2) failTensor(entries_.back(), "\"data_offsets\" is not [begin, end]");
    offsets.push_back(value);
  } else {
    refuse("a number");
  }
  return true;
}

bool HeaderReader::string(std::string& value) {
  if (place_ == Place::kMetadata) {
    metadata[key_] = value;
  } else if (place_ == Place::kTensor && field_ == kDtype) {
    const Dtype* dtype = dtypeOfName(value);
    if (dtype == nullptr) {
      failTensor(entries_.back(), "dtype \"" + printable(value) + "\" is not one of " + dtypeNames());
    }
    entries_.back().tensor->second.dtype = *dtype;
  } else {
    refuse("a string");
  }
  return true;
}

void HeaderReader::locate(const Entry& entry, std::string_view data) {
  TensorView& view = entry.tensor->second;
  const std::uint64_t begin = entry.offsets[0], end = entry.offsets[1];
  const std::string span = "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
  if (begin > end) failTensor(entry, "data_offsets " + span + " are not in order");
  if (end > data.size()) {
    failTensor(entry, "data_offsets " + span + " exceed the " + std::to_string(data.size()) + " bytes of data");
  }
  std::uint64_t bytes = 0;
  if (!tensorBytes(view.dtype, view.shape, &bytes)) failTensor(entry, "the size of its shape overflows");
  if (bytes != end - begin) {
    failTensor(entry, "its shape needs " + std::to_string(bytes) + " bytes, its data_offsets " + span + " give " +
                          std::to_string(end - begin));
  }
  view.data = reinterpret_cast<const std::byte*>(data.data()) + begin;
  view.bytes = bytes;
}

void HeaderReader::read(std::string_view data) {
  parse(false);
  for (const Entry& entry : entries_) locate(entry, data);
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  std::uint64_t end = 0;
  for (const Entry& entry : entries_) {
    if (entry.offsets[0] < end)
      failTensor(entry, "overlaps another tensor at byte " + std::to_string(entry.offsets[0]));
    if (entry.offsets[0] > end) failTensor(entry, "a hole before it, from byte " + std::to_string(end));
    end = entry.offsets[1];
  }
  if (end != data.size()) {
    fail("the tensors end at byte " + std::to_string(end) + ", the data at " + std::to_string(data.size()), kRemedy);
  }
}

}  // namespace redraft::internal
