#include "model/pipeline/data.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/text.h"
#include "model/pipeline/byte_tokenizer.h"

namespace redraft::model {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

void append(Sample& sample, const std::vector<std::int32_t>& tokens, bool supervised) {
  sample.tokens.insert(sample.tokens.end(), tokens.begin(), tokens.end());
  sample.supervised.insert(sample.supervised.end(), tokens.size(), supervised ? 1 : 0);
}

Sample conversationSample(JsonReader& record) {
  Sample sample;
  append(sample, {kBeginOfText}, false);
  std::vector<JsonReader> turns = record.objects("conversations");
  if (turns.empty())
    record.fail("conversations", "the conversation is empty", "give it at least one turn, or drop the line");
  for (JsonReader& turn : turns) {
    const std::string role = turn.choice("role", {"system", "user", "assistant"}, "");
    const std::int32_t mark = turnToken(role);
    if (mark < 0) turn.fail("role", "a turn needs a role", "write \"system\", \"user\" or \"assistant\"");
    const std::string content = turn.string("content");
    turn.finish();
    append(sample, {mark}, false);
    append(sample, encodeBytes(content), role == "assistant");
    append(sample, {kEndOfTurn}, role == "assistant");
  }
  return sample;
}

Sample tokenSample(JsonReader& record, std::int64_t vocabulary) {
  Sample sample;
  const std::vector<std::int64_t> ids = record.integers("input_ids", 0, vocabulary - 1);
  const std::vector<std::int64_t> mask = record.integers("loss_mask", 0, 1);
  if (ids.size() != mask.size()) {
    record.fail("loss_mask",
                "it has " + std::to_string(mask.size()) + " values and input_ids has " + std::to_string(ids.size()),
                "give both the same length");
  }
  sample.tokens.assign(ids.begin(), ids.end());
  sample.supervised.assign(mask.begin(), mask.end());
  return sample;
}

/// Parses one line. JsonDocument counts lines within what it is given, so its places are moved to the line of the file.
Sample parseLine(std::string_view line, const std::string& place, const DataOptions& options) {
  try {
    const JsonDocument document = JsonDocument::parse(line, place, JsonDocument::Comments::kRefuse);
    JsonReader record(document);
    record.ignore("id");
    Sample sample = options.format == DataFormat::kConversations ? conversationSample(record)
                                                                 : tokenSample(record, options.vocabulary);
    record.finish();
    return sample;
  } catch (const Error& error) {
    throw Error(error.kind(), place, error.message(), error.remedy());
  }
}

class DatasetBuilder {
 public:
  DatasetBuilder(const DataOptions& options, std::string name) : options_(options), name_(std::move(name)) {}

  void add(Sample sample) {
    sample.id = dataset_.records++;
    const auto limit = static_cast<std::size_t>(options_.sequenceLength);
    if (sample.tokens.size() > limit) {
      sample.tokens.resize(limit);
      sample.supervised.resize(limit);
      ++dataset_.cut;
    }
    if (!hasAnchorCandidate(sample)) {
      ++dataset_.unsupervised;
      return;
    }
    dataset_.samples.push_back(std::move(sample));
  }

  Dataset finish() {
    if (dataset_.samples.empty()) {
      throwBadInput(name_, "no sample is left of " + std::to_string(dataset_.records) + " records",
                    "a sample needs two adjacent supervised tokens within the first " +
                        std::to_string(options_.sequenceLength) + "; raise sequence_length or check the loss mask");
    }
    return std::move(dataset_);
  }

 private:
  const DataOptions& options_;
  std::string name_;
  Dataset dataset_;
};

void parseText(std::string_view bytes, const DataOptions& options, DatasetBuilder& builder) {
  const auto length = static_cast<std::size_t>(options.sequenceLength);
  for (std::size_t at = 0; at < bytes.size(); at += length) {
    Sample sample;
    append(sample, encodeBytes(bytes.substr(at, length)), true);
    builder.add(std::move(sample));
  }
}

void parseLines(std::string_view bytes, const std::string& name, const DataOptions& options, DatasetBuilder& builder) {
  std::int64_t number = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    builder.add(parseLine(line, name + ":" + std::to_string(number), options));
  }
}

}  // namespace

bool hasAnchorCandidate(const Sample& sample) {
  for (std::size_t i = 1; i < sample.supervised.size(); ++i) {
    if (sample.supervised[i - 1] != 0 && sample.supervised[i] != 0) return true;
  }
  return false;
}

Dataset parseDataset(std::string_view bytes, const std::string& name, const DataOptions& options) {
  if (options.sequenceLength < 2) {
    throwBadInput(name, "sequence_length is " + std::to_string(options.sequenceLength), "give at least 2");
  }
  const bool bytesNeeded = options.format != DataFormat::kTokens;
  if (options.vocabulary < (bytesNeeded ? kMaskToken + 1 : 1)) {
    throwBadInput(name,
                  "the target's vocabulary of " + std::to_string(options.vocabulary) + " is too small for this format",
                  "text and conversations are byte tokens and need " + std::to_string(kMaskToken + 1) +
                      "; give tokenised data for another tokenizer");
  }
  DatasetBuilder builder(options, name);
  if (options.format == DataFormat::kText) {
    parseText(bytes, options, builder);
  } else {
    parseLines(bytes, name, options, builder);
  }
  return builder.finish();
}

std::vector<Sample> randomSamples(std::uint64_t seed, std::int64_t count, std::int64_t length,
                                  std::int64_t vocabulary) {
  std::vector<Sample> samples(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Sample& sample = samples[static_cast<std::size_t>(i)];
    sample.id = i;
    CounterRng rng(seed, "tokens", static_cast<std::uint64_t>(i));
    for (std::int64_t t = 0; t < length; ++t)
      sample.tokens.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(vocabulary))));
    sample.supervised.assign(sample.tokens.size(), 1);
  }
  return samples;
}

Dataset loadDataset(const DataOptions& options) {
  return parseDataset(readFile(options.path, kMaxFileBytes), options.path, options);
}

}  // namespace redraft::model
