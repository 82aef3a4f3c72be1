#include "base/safetensors.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/internal/descriptor.h"
#include "base/internal/safetensors_header.h"
#include "base/text.h"

namespace redraft {
namespace {

constexpr std::string_view kTruncated = "the file is truncated or not safetensors; copy it again";

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
};

constexpr DtypeRow kDtypes[] = {
    {Dtype::kBool, "BOOL", 1}, {Dtype::kU8, "U8", 1},   {Dtype::kI8, "I8", 1},   {Dtype::kI16, "I16", 2},
    {Dtype::kI32, "I32", 4},   {Dtype::kI64, "I64", 8}, {Dtype::kF16, "F16", 2}, {Dtype::kBF16, "BF16", 2},
    {Dtype::kF32, "F32", 4},   {Dtype::kF64, "F64", 8},
};

const DtypeRow& rowOf(Dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  REDRAFT_CHECK(index < std::size(kDtypes) && kDtypes[index].dtype == dtype, "no such dtype");
  return kDtypes[index];
}

/// The file's bytes. Mapped, or somebody else's.
class Mapping {
 public:
  explicit Mapping(std::string_view bytes) : bytes_(bytes) {}
  explicit Mapping(const std::string& path) {
    std::size_t size = 0;
    const internal::Descriptor file = internal::openForReading(path, &size);
    if (size == 0) throwBadInput(path, "is empty", std::string(kTruncated));
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) {
      throw Error(ErrorKind::kEnvironment, path, std::string("cannot map: ") + std::strerror(errno));
    }
    bytes_ = {static_cast<const char*>(address), size};
    mapped_ = true;
  }
  ~Mapping() {
    if (mapped_) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  bool mapped_ = false;
};

}  // namespace

std::size_t dtypeSize(Dtype dtype) { return rowOf(dtype).size; }

std::string_view dtypeName(Dtype dtype) { return rowOf(dtype).name; }

namespace internal {

const Dtype* dtypeOfName(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const DtypeRow& row) { return row.name == name; });
  return found == std::end(kDtypes) ? nullptr : &found->dtype;
}

std::string dtypeNames() {
  std::string names;
  for (const DtypeRow& row : kDtypes) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

bool tensorBytes(Dtype dtype, const std::vector<std::int64_t>& shape, std::uint64_t* bytes) {
  *bytes = dtypeSize(dtype);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return false;
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(*bytes, static_cast<std::uint64_t>(extent), bytes)) {
      return false;
    }
  }
  if (*bytes > static_cast<std::uint64_t>(INT64_MAX)) return false;
  if (empty) *bytes = 0;
  return true;
}

}  // namespace internal

struct SafetensorsFile::Impl {
  template <typename Source>
  Impl(const Source& source, std::string name) : path(std::move(name)), mapping(source) {
    read();
  }

  void read() {
    const std::string_view bytes = mapping.bytes();
    if (bytes.size() < internal::kLengthBytes) throwBadInput(path, "is shorter than 8 bytes", std::string(kTruncated));
    std::uint64_t length = 0;
    for (std::size_t i = internal::kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
    const std::string_view rest = bytes.substr(internal::kLengthBytes);
    if (length > internal::kLongestHeader || length > rest.size()) {
      const std::string limit = length > internal::kLongestHeader ? "the limit of 100 MB" : "the file";
      throwBadInput(path, "header of " + std::to_string(length) + " bytes exceeds " + limit, std::string(kTruncated));
    }
    if (length == 0 || rest.front() != '{') {
      throwBadInput(path, "the header does not start with '{'", std::string(kTruncated));
    }
    internal::HeaderReader reader(rest.substr(0, length), path);
    reader.read(rest.substr(length));
    tensors = std::move(reader.tensors);
    metadata = std::move(reader.metadata);
  }

  std::string path;
  Mapping mapping;
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
};

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.impl_ = std::make_shared<const Impl>(path, path);
  return file;
}

SafetensorsFile SafetensorsFile::fromBytes(std::string_view bytes, std::string name) {
  SafetensorsFile file;
  file.impl_ = std::make_shared<const Impl>(bytes, std::move(name));
  return file;
}

const std::map<std::string, TensorView>& SafetensorsFile::tensors() const { return impl_->tensors; }

bool SafetensorsFile::has(const std::string& name) const { return impl_->tensors.count(name) > 0; }

const TensorView& SafetensorsFile::at(const std::string& name) const {
  const auto found = impl_->tensors.find(name);
  if (found != impl_->tensors.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, view] : impl_->tensors) names.push_back(known);
  internal::throwNoTensor(impl_->path, name, names);
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return impl_->metadata; }

const std::string& SafetensorsFile::path() const { return impl_->path; }

namespace internal {

void throwNoTensor(const std::string& path, const std::string& name, const std::vector<std::string>& names) {
  const std::string close = nearest(name, names);
  throwBadInput(path, "no tensor \"" + printable(name) + "\" among " + std::to_string(names.size()),
                close.empty() ? "is this the right file?" : "the nearest is \"" + printable(close) + "\"");
}

}  // namespace internal
}  // namespace redraft
