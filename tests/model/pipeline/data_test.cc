#include "model/pipeline/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "model/pipeline/byte_tokenizer.h"

namespace redraft::model {
namespace {

DataOptions optionsFor(DataFormat format, std::int64_t length = 16, std::int64_t vocabulary = kByteVocabulary) {
  DataOptions options;
  options.format = format;
  options.sequenceLength = length;
  options.vocabulary = vocabulary;
  return options;
}

/// The error that parsing `bytes` raises; fails the test when there is none.
Error expectBadInput(const std::string& bytes, const DataOptions& options) {
  try {
    parseDataset(bytes, "corpus.jsonl", options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    return error;
  }
  ADD_FAILURE() << "no error for: " << bytes.substr(0, 80);
  return Error(ErrorKind::kDevice, "", "");
}

TEST(DataTest, TextIsCutIntoSequencesThatAreAllSupervised) {
  const Dataset data = parseDataset("abcdefghij", "corpus.txt", optionsFor(DataFormat::kText, 4));
  ASSERT_EQ(data.samples.size(), 3u);
  EXPECT_EQ(decodeBytes(data.samples[1].tokens), "efgh");
  EXPECT_EQ(data.samples[1].supervised, std::vector<std::uint8_t>({1, 1, 1, 1}));
  EXPECT_EQ(decodeBytes(data.samples[2].tokens), "ij");
  EXPECT_EQ(data.samples[2].id, 2);
}

TEST(DataTest, RandomSamplesAreFunctionsOfSeedAndNumber) {
  const std::vector<Sample> samples = randomSamples(7, 3, 200, 50);
  ASSERT_EQ(samples.size(), 3u);
  for (const Sample& sample : samples) {
    EXPECT_EQ(sample.tokens.size(), 200u);
    EXPECT_TRUE(hasAnchorCandidate(sample));
    const auto [low, high] = std::minmax_element(sample.tokens.begin(), sample.tokens.end());
    EXPECT_GE(*low, 0);
    EXPECT_LT(*high, 50);
    EXPECT_GT(std::set<std::int32_t>(sample.tokens.begin(), sample.tokens.end()).size(), 25u);
  }
  EXPECT_NE(samples[0].tokens, samples[1].tokens);
  EXPECT_EQ(randomSamples(7, 2, 200, 50)[1].tokens, samples[1].tokens);
  EXPECT_NE(randomSamples(8, 1, 200, 50)[0].tokens, samples[0].tokens);
}

TEST(DataTest, ALastPieceOfOneByteIsLeftOutAndCounted) {
  const Dataset data = parseDataset("abcde", "corpus.txt", optionsFor(DataFormat::kText, 4));
  EXPECT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(data.records, 2);
  EXPECT_EQ(data.unsupervised, 1);
}

TEST(DataTest, BytesAboveAsciiAreTokensBelow256) {
  const Dataset data = parseDataset("\xff\xfe\x80", "corpus.txt", optionsFor(DataFormat::kText, 4));
  EXPECT_EQ(data.samples[0].tokens, std::vector<std::int32_t>({255, 254, 128}));
}

TEST(DataTest, OnlyAssistantTurnsAreSupervisedInAConversation) {
  const std::string line = R"({"id": "a", "conversations": [{"role": "user", "content": "hi"},)"
                           R"( {"role": "assistant", "content": "yo"}]})";
  const Dataset data = parseDataset(line, "corpus.jsonl", optionsFor(DataFormat::kConversations));
  ASSERT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(decodeBytes(data.samples[0].tokens), "<|text|><|user|>hi<|end|><|assistant|>yo<|end|>");
  EXPECT_EQ(data.samples[0].supervised, std::vector<std::uint8_t>({0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(DataTest, TokensKeepTheirLossMask) {
  const Dataset data = parseDataset("{\"input_ids\": [1, 2, 3], \"loss_mask\": [0, 1, 1]}\n", "corpus.jsonl",
                                    optionsFor(DataFormat::kTokens));
  EXPECT_EQ(data.samples[0].tokens, std::vector<std::int32_t>({1, 2, 3}));
  EXPECT_EQ(data.samples[0].supervised, std::vector<std::uint8_t>({0, 1, 1}));
}

TEST(DataTest, SamplesWithoutTwoAdjacentSupervisedTokensAreLeftOutAndIdsStay) {
  const std::string lines =
      "{\"input_ids\": [1, 2, 3], \"loss_mask\": [1, 0, 1]}\n\n"
      "{\"input_ids\": [4, 5], \"loss_mask\": [1, 1]}\n"
      "{\"input_ids\": [], \"loss_mask\": []}\n";
  const Dataset data = parseDataset(lines, "corpus.jsonl", optionsFor(DataFormat::kTokens));
  EXPECT_EQ(data.records, 3);
  EXPECT_EQ(data.unsupervised, 2);
  ASSERT_EQ(data.samples.size(), 1u);
  EXPECT_EQ(data.samples[0].id, 1);
}

TEST(DataTest, LongSamplesAreCutBeforeTheyAreJudged) {
  const std::string line =
      "{\"input_ids\": [1, 2, 3, 4, 5], \"loss_mask\": [0, 0, 0, 1, 1]}\n"
      "{\"input_ids\": [1, 2, 3, 4, 5], \"loss_mask\": [1, 1, 0, 1, 1]}\n";
  const Dataset data = parseDataset(line, "corpus.jsonl", optionsFor(DataFormat::kTokens, 3));
  EXPECT_EQ(data.cut, 2);
  EXPECT_EQ(data.unsupervised, 1);
  EXPECT_EQ(data.samples[0].tokens.size(), 3u);
}

TEST(DataTest, ErrorsNameTheLineOfTheFile) {
  const DataOptions tokens = optionsFor(DataFormat::kTokens);
  const std::string good = "{\"input_ids\": [1, 2], \"loss_mask\": [1, 1]}\n";
  EXPECT_EQ(expectBadInput(good + "\n{\"input_ids\": [1, 2}\n", tokens).place(), "corpus.jsonl:3");
  EXPECT_EQ(expectBadInput(good + "{\"input_ids\": [1, 2], \"loss_mask\": [1]}", tokens).place(), "corpus.jsonl:2");
}

TEST(DataTest, EveryBadRecordIsAnErrorWithARemedy) {
  const DataOptions tokens = optionsFor(DataFormat::kTokens);
  const DataOptions talks = optionsFor(DataFormat::kConversations);
  expectBadInput("", tokens);
  expectBadInput("[1, 2]", tokens);
  expectBadInput("{\"input_ids\": [1, 264], \"loss_mask\": [1, 1]}", tokens);
  expectBadInput("{\"input_ids\": [1, -1], \"loss_mask\": [1, 1]}", tokens);
  expectBadInput("{\"input_ids\": [1, 2.5], \"loss_mask\": [1, 1]}", tokens);
  expectBadInput("{\"input_ids\": [1, 2], \"loss_mask\": [1, 2]}", tokens);
  expectBadInput("{\"input_ids\": \"ab\", \"loss_mask\": [1, 1]}", tokens);
  expectBadInput("{\"input_ids\": [1, 2], \"loss_masc\": [1, 1]}", tokens);
  expectBadInput("{\"conversations\": []}", talks);
  expectBadInput("{\"conversations\": [{\"role\": \"asistant\", \"content\": \"hi\"}]}", talks);
  expectBadInput("{\"conversations\": [{\"content\": \"hi\"}]}", talks);
  expectBadInput("{\"conversations\": [{\"role\": \"user\", \"content\": \"only\"}]}", talks);
}

TEST(DataTest, TheNearestRoleIsProposed) {
  const Error error = expectBadInput("{\"conversations\": [{\"role\": \"asistant\", \"content\": \"hi\"}]}",
                                     optionsFor(DataFormat::kConversations));
  EXPECT_NE(std::string(error.what()).find("assistant"), std::string::npos) << error.what();
}

TEST(DataTest, AVocabularyWithoutTheByteTokensIsRefusedForText) {
  const Error error = expectBadInput("abc", optionsFor(DataFormat::kText, 4, 256));
  EXPECT_NE(error.message().find("256"), std::string::npos) << error.what();
}

TEST(DataTest, AMissingFileIsBadInput) {
  DataOptions options = optionsFor(DataFormat::kText);
  options.path = "no/such/corpus.txt";
  EXPECT_THROW(loadDataset(options), Error);
}

}  // namespace
}  // namespace redraft::model
