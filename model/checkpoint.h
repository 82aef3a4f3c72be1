#pragma once
// Parameters by the field's names: which tensors a model has, with their shapes, in checkpoint order; and their way
// from and to safetensors. Loading checks every name, shape and dtype before it copies a byte, and reports all of what
// is wrong at once. Errors are Error(kBadInput) at the file.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "model/config.h"

namespace redraft::model {

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Qwen3: model.embed_tokens, model.layers.*, model.norm, and lm_head unless it is tied to the embedding.
std::vector<ParameterSpec> targetParameters(const TargetConfig& config);
/// DFlash: fc, hidden_norm, norm, layers.*; 11 L + 3 tensors, neither embedding nor head.
std::vector<ParameterSpec> drafterParameters(const DrafterConfig& config);

/// Tensors by name, still in their file. Valid as long as this object lives.
class TensorSource {
 public:
  /// A checkpoint: a file, an index with shards, or a folder with either.
  static TensorSource open(const std::string& path);
  /// The tensors of `file` whose names begin with `prefix`, without it.
  static TensorSource within(const SafetensorsFile& file, const std::string& prefix);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::string& place() const { return place_; }

 private:
  std::string place_;
  std::map<std::string, TensorView> tensors_;
  std::vector<SafetensorsFile> files_;  // what the views point into
  std::vector<SafetensorsCheckpoint> checkpoints_;
};

/// The specified tensors, converted to `dtype` on `device`, in the order of `specs`. A tensor that is missing, unknown,
/// of another shape, or of a dtype other than F32, BF16 or F16 is an error; so is a number that is not finite.
std::vector<at::Tensor> loadParameters(const TensorSource& source, const std::vector<ParameterSpec>& specs,
                                       at::ScalarType dtype, at::Device device);
/// As loadParameters for a target. A tied model may store lm_head.weight too; it must then equal the embedding.
std::vector<at::Tensor> loadTargetParameters(const TensorSource& source, const TargetConfig& config,
                                             at::ScalarType dtype, at::Device device);

/// A fresh model on the CPU in float32: norm weights 1, the others normal with this deviation. A number depends on the
/// seed and on its parameter's place in `specs`, on nothing else.
std::vector<at::Tensor> randomParameters(const std::vector<ParameterSpec>& specs, std::uint64_t seed, double deviation);

/// Writes config.json and the tensors to `folder`: model.safetensors, or shards of at most maxShardBytes with their
/// index.
void saveCheckpoint(const std::string& folder, const Json& config, const std::vector<ParameterSpec>& specs,
                    const std::vector<at::Tensor>& parameters, std::size_t maxShardBytes = std::size_t{4} << 30);

/// A copy on the CPU of a stored tensor, in its own dtype.
at::Tensor toTensor(const TensorView& view);
/// The bytes of a contiguous CPU tensor, which must outlive the view.
TensorView viewOf(const at::Tensor& tensor);

}  // namespace redraft::model
