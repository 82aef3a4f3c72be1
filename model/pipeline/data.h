#pragma once
// Training data: tokenised JSONL, conversations, or plain text, as sequences of tokens with a loss mask. No LibTorch.
//
// A sample with no two adjacent supervised tokens can hold no anchor (specforge/data/loss_mask.py) and is left out and
// counted. Every error is Error(kBadInput) with "FILE:LINE" and a remedy. Memory is bounded by the file's size.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redraft::model {

struct Sample {
  /// Number of its record in the file (of its piece, for plain text), from 0, before anything is left out.
  std::int64_t id = 0;
  std::vector<std::int32_t> tokens;
  std::vector<std::uint8_t> supervised;  // 0 or 1, as many as tokens
};

enum class DataFormat : std::uint8_t {
  kText,           // bytes, cut into sequences; every token is supervised
  kConversations,  // {"id"?, "conversations": [{"role", "content"}]} a line; assistant turns are supervised
  kTokens,         // {"id"?, "input_ids", "loss_mask"} a line
};

struct DataOptions {
  std::string path;
  DataFormat format = DataFormat::kText;
  std::int64_t sequenceLength = 0;  // longer samples are cut to it and counted
  std::int64_t vocabulary = 0;      // ids are below it
};

struct Dataset {
  std::vector<Sample> samples;    // at least one
  std::int64_t records = 0;       // in the file
  std::int64_t unsupervised = 0;  // left out: no two adjacent supervised tokens
  std::int64_t cut = 0;           // longer than sequenceLength
};

/// Throws also when nothing is left.
Dataset loadDataset(const DataOptions& options);
/// The same from bytes in memory (tests, fuzzing); `name` stands for the path.
Dataset parseDataset(std::string_view bytes, const std::string& name, const DataOptions& options);

/// `count` samples of `length` tokens below `vocabulary`, each a function of (seed, its number), all supervised.
std::vector<Sample> randomSamples(std::uint64_t seed, std::int64_t count, std::int64_t length, std::int64_t vocabulary);

bool hasAnchorCandidate(const Sample& sample);

}  // namespace redraft::model
