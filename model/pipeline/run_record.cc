#include "model/pipeline/run_record.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/safetensors.h"

namespace redraft::model {

namespace {

constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr const char* kDigestsFile = "digests.bin";
constexpr const char* kDigestsSchema = "redraft.digests/1";

Json stepLine(const StepMetrics& metrics) {
  Json line;
  line["step"] = metrics.step;
  line["loss"] = toHexFloat(metrics.sums.loss());
  line["accuracy"] = toHexFloat(metrics.sums.accuracy());
  line["prefix_acceptance"] = toHexFloat(metrics.sums.acceptanceLength());
  line["grad_norm"] = toHexFloat(metrics.gradNorm);
  line["learning_rate"] = toHexFloat(metrics.learningRate);
  line["tokens"] = metrics.tokens;
  line["seconds"] = metrics.seconds;
  line["parameters_hash"] = metrics.parametersHash;
  Json roles = Json::object();
  for (const auto& [role, sample] : metrics.roles) {
    roles[role] = {
        {"tokens", sample.tokens}, {"busy_seconds", sample.busySeconds}, {"wait_seconds", sample.waitSeconds}};
    if (role.rfind("drafter", 0) != 0) continue;
    roles[role]["feature_wait_seconds"] = sample.featureWaitSeconds;
    roles[role]["gradient_wait_seconds"] = sample.gradientWaitSeconds;
  }
  line["roles"] = std::move(roles);
  return line;
}

/// The digests of one step as four tensors, and the memory behind them.
class DigestTensors {
 public:
  DigestTensors(std::int64_t step, const std::vector<GradientDigest>& digests) {
    for (const GradientDigest& digest : digests) {
      l2_.push_back(digest.l2);
      max_.push_back(digest.max);
      hash_.insert(hash_.end(), digest.hash.begin(), digest.hash.end());
      sketch_.insert(sketch_.end(), digest.sketch.begin(), digest.sketch.end());
    }
    prefix_ = "step." + std::to_string(step) + ".grad.";
  }

  void list(std::vector<NamedTensor>& tensors) const {
    const auto count = static_cast<std::int64_t>(l2_.size());
    tensors.push_back({prefix_ + "l2", view(Dtype::kF64, {count}, l2_)});
    tensors.push_back({prefix_ + "max", view(Dtype::kF64, {count}, max_)});
    tensors.push_back({prefix_ + "hash", view(Dtype::kU8, {count, 16}, hash_)});
    tensors.push_back({prefix_ + "sketch", view(Dtype::kF32, {count, kSketchSize}, sketch_)});
  }

 private:
  template <class T>
  static TensorView view(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    return {dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
  }

  std::string prefix_;
  std::vector<double> l2_, max_;
  std::vector<std::uint8_t> hash_;
  std::vector<float> sketch_;
};

std::vector<GradientDigest> readDigests(const SafetensorsFile& file, std::int64_t step, std::size_t count) {
  const std::string prefix = "step." + std::to_string(step) + ".grad.";
  const auto bytesOf = [&](const char* name, Dtype dtype, std::size_t bytes) {
    const TensorView& view = file.at(prefix + name);
    if (view.dtype != dtype || view.bytes != bytes) {
      throwBadInput(file.path() + ": " + prefix + name, "not a digest of " + std::to_string(count) + " parameters",
                    "the checkpoint is of another run: remove it");
    }
    return view.data;
  };
  const std::byte* l2 = bytesOf("l2", Dtype::kF64, count * sizeof(double));
  const std::byte* max = bytesOf("max", Dtype::kF64, count * sizeof(double));
  const std::byte* hash = bytesOf("hash", Dtype::kU8, count * 16);
  const std::byte* sketch = bytesOf("sketch", Dtype::kF32, count * kSketchSize * sizeof(float));
  std::vector<GradientDigest> digests(count);
  for (std::size_t i = 0; i < count; ++i) {
    GradientDigest& digest = digests[i];
    std::memcpy(&digest.l2, l2 + i * sizeof(double), sizeof(double));
    std::memcpy(&digest.max, max + i * sizeof(double), sizeof(double));
    std::memcpy(digest.hash.data(), hash + i * 16, 16);
    std::memcpy(digest.sketch.data(), sketch + i * sizeof(digest.sketch), sizeof(digest.sketch));
  }
  return digests;
}

std::string joinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

RunRecord::RunRecord(std::string folder, const Json& header, std::vector<std::string> parameters)
    : folder_(std::move(folder)), parameters_(std::move(parameters)) {
  Json line;
  line["schema"] = "redraft.metrics/1";
  line.update(header);
  lines_.push_back(line.dump());
  const std::string path = joinPath(folder_, kMetricsFile);
  writeFileAtomically(path, joinLines(lines_));
  writer_ = std::make_unique<LineWriter>(path);
}

void RunRecord::restore(const std::string& saved) {
  const std::string path = joinPath(saved, kMetricsFile);
  std::vector<std::string> lines = readLines(path);
  const SafetensorsFile file = SafetensorsFile::open(joinPath(saved, kDigestsFile));
  const auto names = file.metadata().find("parameters");
  if (lines.empty() || lines.front() != lines_.front() || names == file.metadata().end() ||
      names->second != Json(parameters_).dump()) {
    throwBadInput(saved, "the checkpoint's record is of another run",
                  "remove the checkpoint, or start in a new folder");
  }
  std::vector<std::int64_t> numbers;
  std::vector<std::vector<GradientDigest>> digests;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const JsonDocument document = JsonDocument::parse(lines[i], path + ":" + std::to_string(i + 1));
    JsonReader reader(document);
    numbers.push_back(reader.integer("step", 0, std::int64_t{1} << 40));
    const bool kept = reader.boolean("digests", true);
    digests.push_back(kept ? readDigests(file, numbers.back(), parameters_.size()) : std::vector<GradientDigest>());
  }
  lines_ = std::move(lines);
  numbers_ = std::move(numbers);
  digests_ = std::move(digests);
  const std::string mine = joinPath(folder_, kMetricsFile);
  writer_.reset();
  writeFileAtomically(mine, joinLines(lines_));
  writer_ = std::make_unique<LineWriter>(mine);
}

void RunRecord::save(const std::string& folder) const {
  writeFileAtomically(joinPath(folder, kMetricsFile), joinLines(lines_));
  writeDigests(folder);
}

void RunRecord::append(const Json& line) {
  lines_.push_back(line.dump());
  writer_->append(lines_.back());
}

void RunRecord::add(const StepMetrics& metrics, std::vector<GradientDigest> digests) {
  REDRAFT_CHECK(digests.empty() || digests.size() == parameters_.size(), "one digest a parameter, or none");
  Json line = stepLine(metrics);
  if (digests.empty()) line["digests"] = false;
  append(line);
  numbers_.push_back(metrics.step);
  digests_.push_back(std::move(digests));
}

void RunRecord::addEvaluation(const std::vector<std::int64_t>& acceptLengths, double meanAcceptLength,
                              const std::string& textHash, bool greedyEqual) {
  Json evaluation;
  evaluation["accept_lengths"] = acceptLengths;
  evaluation["mean_accept_length"] = toHexFloat(meanAcceptLength);
  evaluation["text_hash"] = textHash;
  evaluation["greedy_equal"] = greedyEqual;
  append({{"evaluation", std::move(evaluation)}});
}

void RunRecord::writeDigests(const std::string& folder) const {
  std::vector<DigestTensors> steps;
  steps.reserve(digests_.size());
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    if (digests_[i].empty()) continue;
    steps.emplace_back(numbers_[i], digests_[i]);
    steps.back().list(tensors);
  }
  writeSafetensors(joinPath(folder, kDigestsFile), tensors,
                   {{"schema", kDigestsSchema}, {"parameters", Json(parameters_).dump()}});
}

}  // namespace redraft::model
