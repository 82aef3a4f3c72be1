#include "golden/values.h"

#include <bit>
#include <charconv>
#include <cstdio>
#include <map>

#include "base/json.h"
#include "base/text.h"

namespace redraft::golden {

namespace {

constexpr std::int64_t kMaxStep = 1 << 24;
constexpr std::int64_t kMaxAccepted = 1 << 20;
constexpr const char* kHash = "parameters_hash";
constexpr std::string_view kStep = "step/", kGradient = "gradient/", kEvaluation = "evaluation/",
                           kPeakBytes = "peak_bytes/";

std::string sketchHex(const std::array<float, kSketchSize>& sketch) {
  std::string out;
  for (float value : sketch) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%08x", std::bit_cast<std::uint32_t>(value));
    out += digits;
  }
  return out;
}

std::uint32_t hexWord(std::string_view digits) {
  std::uint32_t word = 0;
  for (char c : digits) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    if (!digit && !letter) throw std::invalid_argument("not a hex digit");
    word = word << 4 | static_cast<std::uint32_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return word;
}

/// Decimal digits alone, no sign, no leading zero.
std::optional<std::int64_t> wholeNumber(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool plain = !text.empty() && text[0] != '-' && (text[0] != '0' || text.size() == 1);
  if (!plain || status != std::errc() || stop != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

std::int64_t integerOf(const Value& value, std::int64_t most) {
  const auto number = wholeNumber(value.text, most);
  if (!number) throw BadValue(value.key, "'" + printable(value.text) + "' is no whole number");
  return *number;
}

double hexOf(const Value& value) {
  try {
    return fromHexFloat(value.text);
  } catch (const std::invalid_argument&) {
    throw BadValue(value.key, "'" + printable(value.text) + "' is not a hex float; write it as \"0x1.8p+1\"");
  }
}

GradientDigest digestOf(const Value& value) {
  try {
    return parseDigest(value.text);
  } catch (const std::invalid_argument&) {
    throw BadValue(value.key, "not a gradient digest: L2, max, hash, sketch");
  }
}

std::string joinNumbers(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> parts;
  for (const std::int64_t number : numbers) parts.push_back(std::to_string(number));
  return join(parts, " ");
}

void setEvaluation(const Value& value, const std::string& name, Evaluation& evaluation) {
  if (name == "evaluation/accept_lengths") {
    for (const std::string& part : value.text.empty() ? std::vector<std::string>() : split(value.text, ' '))
      evaluation.acceptLengths.push_back(integerOf({value.key, part}, kMaxAccepted));
  } else if (name == "evaluation/mean_accept_length") {
    evaluation.meanAcceptLength = hexOf(value);
  } else if (name == "evaluation/text_hash") {
    evaluation.textHash = value.text;
  } else {
    throw BadValue(value.key, "an evaluation has accept_lengths, mean_accept_length and text_hash");
  }
}

/// Puts values where they belong, and knows what is missing in the end.
class Builder {
 public:
  explicit Builder(Record& record) : record_(record) {
    record_.steps.clear();
    record_.gradients.clear();
    record_.evaluation.reset();
    record_.peakBytes.clear();
    for (std::size_t i = 0; i < record_.parameters.size(); ++i) places_[record_.parameters[i]] = i;
  }

  void add(const Value& value) {
    const KeyParts parts = partsOf(value.key);
    if (parts.step) {
      addToStep(value, parts);
    } else if (parts.name.starts_with(kEvaluation)) {
      if (!record_.evaluation) record_.evaluation.emplace();
      setEvaluation(value, parts.name, *record_.evaluation);
      ++evaluationKeys_;
    } else {
      const auto device = wholeNumber(std::string_view(parts.name).substr(kPeakBytes.size()), 9999);
      if (!device) throw BadValue(value.key, "no device index");
      record_.peakBytes[static_cast<int>(*device)] = integerOf(value, std::int64_t{1} << 60);
    }
  }

  void finish() {
    finishStep();
    if (record_.evaluation && evaluationKeys_ != 3)
      throw BadValue("evaluation", "it has accept_lengths, mean_accept_length and text_hash, or none of them");
  }

 private:
  void addToStep(const Value& value, const KeyParts& parts) {
    if (record_.steps.empty() || record_.steps.back().step != *parts.step) beginStep(value, *parts.step);
    StepMetrics& step = record_.steps.back();
    if (parts.isGradient) {
      const auto place = places_.find(parts.parameter);
      if (place == places_.end()) throw BadValue(value.key, "no parameter of this name");
      std::vector<GradientDigest>& digests = record_.gradients.back();
      digests.resize(record_.parameters.size());
      digests[place->second] = digestOf(value);
      ++digests_;
    } else if (parts.name == kHash) {
      step.parametersHash = value.text;
      hashed_ = true;
    } else {
      step.values[parts.name] = hexOf(value);
    }
  }

  void beginStep(const Value& value, std::int64_t number) {
    if (!record_.steps.empty() && record_.steps.back().step >= number)
      throw BadValue(value.key, "step " + std::to_string(number) + " stands behind a later one");
    finishStep();
    record_.steps.push_back({number, {}, "", true});
    record_.gradients.emplace_back();
    digests_ = 0;
    hashed_ = false;
  }

  void finishStep() const {
    if (record_.steps.empty()) return;
    const std::string step = std::string(kStep) + std::to_string(record_.steps.back().step);
    if (!hashed_) throw BadValue(step + "/" + kHash, "it is missing: take all values of a step, or none");
    if (digests_ != 0 && digests_ != record_.parameters.size())
      throw BadValue(step + "/gradient", std::to_string(digests_) + " gradients of " +
                                             std::to_string(record_.parameters.size()) + ": take all of them, or none");
  }

  Record& record_;
  std::map<std::string, std::size_t> places_;
  std::size_t digests_ = 0;
  bool hashed_ = false;
  int evaluationKeys_ = 0;
};

void addSteps(const Record& record, std::vector<Value>& values) {
  for (std::size_t s = 0; s < record.steps.size(); ++s) {
    const StepMetrics& step = record.steps[s];
    const std::string prefix = std::string(kStep) + std::to_string(step.step) + "/";
    for (const auto& [name, value] : step.values) values.push_back({prefix + name, toHexFloat(value)});
    values.push_back({prefix + kHash, step.parametersHash});
    if (s >= record.gradients.size()) continue;
    for (std::size_t p = 0; p < record.gradients[s].size(); ++p)
      values.push_back({prefix + std::string(kGradient) + record.parameters[p], digestText(record.gradients[s][p])});
  }
}

}  // namespace

std::string digestText(const GradientDigest& digest) {
  return toHexFloat(digest.l2) + " " + toHexFloat(digest.max) + " " + digest.hash + " " + sketchHex(digest.sketch);
}

GradientDigest parseDigest(const std::string& text) {
  const std::vector<std::string> parts = split(text, ' ');
  if (parts.size() != 4 || parts[2].size() != 32 || parts[3].size() != 8 * kSketchSize)
    throw std::invalid_argument("not a digest");
  GradientDigest digest;
  digest.l2 = fromHexFloat(parts[0]);
  digest.max = fromHexFloat(parts[1]);
  digest.hash = parts[2];
  for (int i = 0; i < 4; ++i) hexWord(std::string_view(digest.hash).substr(8 * i, 8));
  for (int i = 0; i < kSketchSize; ++i)
    digest.sketch[i] = std::bit_cast<float>(hexWord(std::string_view(parts[3]).substr(8 * i, 8)));
  return digest;
}

KeyParts partsOf(const std::string& key) {
  KeyParts parts;
  parts.name = key;
  if (key.starts_with(kEvaluation) || key.starts_with(kPeakBytes)) return parts;
  const std::size_t slash = key.starts_with(kStep) ? key.find('/', kStep.size()) : std::string::npos;
  if (slash == std::string::npos) throw BadValue(key, "no such value: write step/N/…, evaluation/… or peak_bytes/N");
  parts.step = wholeNumber(std::string_view(key).substr(kStep.size(), slash - kStep.size()), kMaxStep);
  if (!parts.step) throw BadValue(key, "no step number");
  parts.name = key.substr(slash + 1);
  parts.isGradient = parts.name.starts_with(kGradient);
  if (parts.isGradient) parts.parameter = parts.name.substr(kGradient.size());
  return parts;
}

std::string seriesOf(const std::string& key) {
  const KeyParts parts = partsOf(key);
  return parts.step ? std::string(kStep) + "*/" + parts.name : key;
}

std::vector<Value> valuesOf(const Record& record) {
  std::vector<Value> values;
  addSteps(record, values);
  if (record.evaluation) {
    values.push_back({"evaluation/accept_lengths", joinNumbers(record.evaluation->acceptLengths)});
    values.push_back({"evaluation/mean_accept_length", toHexFloat(record.evaluation->meanAcceptLength)});
    values.push_back({"evaluation/text_hash", record.evaluation->textHash});
  }
  for (const auto& [device, bytes] : record.peakBytes)
    values.push_back({std::string(kPeakBytes) + std::to_string(device), std::to_string(bytes)});
  return values;
}

void setValues(const std::vector<Value>& values, Record& record) {
  Builder builder(record);
  for (const Value& value : values) builder.add(value);
  builder.finish();
}

}  // namespace redraft::golden
