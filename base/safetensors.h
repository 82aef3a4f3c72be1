#pragma once
// The safetensors container: an 8-byte little-endian header length, a JSON header, raw tensor bytes.
// https://github.com/huggingface/safetensors (format section).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redraft {

enum class Dtype { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };

std::size_t dtypeSize(Dtype dtype);
std::string_view dtypeName(Dtype dtype);  // the container's own names: "BOOL", "U8", …, "F32"

struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  const std::byte* data =
      nullptr;  // owned by the file that it came from; aligned to nothing, so copy before use as numbers
  std::size_t bytes = 0;
};

/// A read-only file, mapped. Opening checks everything before any tensor is touched: header length against the file's
/// size (and 100 MB), JSON, dtypes, shapes (no negative, no overflow, at most 64 dimensions), offsets within the file,
/// no overlap, no hole. Errors are Error(kBadInput) with file, tensor and remedy. Copies share the mapping; the views
/// live as long as any copy. Nobody may shorten the file meanwhile (writers here replace files, which is safe).
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::string& path);
  /// From bytes in memory (tests, fuzzing); `bytes` must outlive the result.
  static SafetensorsFile fromBytes(std::string_view bytes, std::string name);

  const std::map<std::string, TensorView>& tensors() const;
  bool has(const std::string& name) const;
  /// Throws with the nearest name when it is missing.
  const TensorView& at(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const;
  const std::string& path() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// A checkpoint: one file, or a `*.safetensors.index.json` with its shards, or a folder that holds either
/// (model.safetensors or model.safetensors.index.json; both is an error). A tensor in the index but not in its shard,
/// or in two shards, is an error, and so is a shard outside the index's folder. Tensors that the index does not name
/// are not offered.
class SafetensorsCheckpoint {
 public:
  static SafetensorsCheckpoint open(const std::string& path);
  bool has(const std::string& name) const;
  const TensorView& at(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t> where_;
};

struct NamedTensor {
  std::string name;
  TensorView view;
};

/// Writes atomically. Tensors keep their order; the data begin at a multiple of 8 bytes. Names must be distinct, and
/// sizes must fit dtype and shape (checked). Throws Error(kEnvironment) when the file cannot be written.
void writeSafetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// Writes shards of at most maxShardBytes of tensors (one tensor may exceed it) and the index, the index last; an index
/// that is there goes first, so that a killed writer never leaves one that points into a mixture.
void writeShardedSafetensors(const std::string& folder, const std::vector<NamedTensor>& tensors,
                             std::size_t maxShardBytes);

}  // namespace redraft
