#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using testing_support::named;
using testing_support::TempFolder;
using testing_support::textOf;
using Names = std::vector<std::string>;

NamedTensor bytes(std::string name, std::string_view data) {
  return named(std::move(name), Dtype::kU8, {static_cast<std::int64_t>(data.size())}, data);
}

class CheckpointTest : public testing::Test {
 protected:
  void writeIndex(const std::string& text) { writeFileAtomically(index_, text); }
  void expectRefused(const std::vector<std::string>& parts) {
    expectBadInput([&] { SafetensorsCheckpoint::open(index_); }, parts);
  }

  const TempFolder folder_;
  const std::string index_ = folder_.file("model.safetensors.index.json");
  const std::vector<NamedTensor> tensors_{bytes("a", "aaaa"), bytes("b", "bb"), bytes("c", "cccccccccc"),
                                          bytes("d", "d")};
};

TEST_F(CheckpointTest, ShardsHoldAtMostTheirLimitUnlessOneTensorIsLarger) {
  writeShardedSafetensors(folder_.path(), tensors_, 6);
  EXPECT_EQ(listDirectory(folder_.path()),
            (Names{"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                   "model-00003-of-00003.safetensors", "model.safetensors.index.json"}));
  const Json index = JsonDocument::load(index_).root();
  EXPECT_EQ(index.at("metadata").at("total_size"), 17);
  EXPECT_EQ(index.at("weight_map").at("b"), "model-00001-of-00003.safetensors");
  EXPECT_EQ(index.at("weight_map").at("c"), "model-00002-of-00003.safetensors");
  EXPECT_EQ(index.at("weight_map").at("d"), "model-00003-of-00003.safetensors");
}

TEST_F(CheckpointTest, OpensAFolderAnIndexOrAFileAlike) {
  writeShardedSafetensors(folder_.path(), tensors_, 6);
  const TempFolder single;
  writeSafetensors(single.file("model.safetensors"), tensors_);
  for (const std::string& path : {folder_.path(), index_, single.path(), single.file("model.safetensors")}) {
    const SafetensorsCheckpoint checkpoint = SafetensorsCheckpoint::open(path);
    EXPECT_EQ(checkpoint.names(), (Names{"a", "b", "c", "d"})) << path;
    for (const NamedTensor& tensor : tensors_) EXPECT_EQ(textOf(checkpoint.at(tensor.name)), textOf(tensor.view));
    EXPECT_TRUE(checkpoint.has("a"));
    EXPECT_FALSE(checkpoint.has("e"));
    expectBadInput([&] { checkpoint.at("aa"); }, {"no tensor \"aa\"", "nearest is \"a\""});
  }
}

TEST_F(CheckpointTest, ANewCheckpointReplacesAnOldOneInItsFolder) {
  writeShardedSafetensors(folder_.path(), tensors_, 1);
  writeShardedSafetensors(folder_.path(), {bytes("z", "zz")}, 1);
  const SafetensorsCheckpoint checkpoint = SafetensorsCheckpoint::open(folder_.path());
  EXPECT_EQ(checkpoint.names(), Names{"z"});
}

TEST_F(CheckpointTest, AFolderWithNeitherOrBothIsRefused) {
  expectBadInput([&] { SafetensorsCheckpoint::open(folder_.path()); }, {"holds neither"});
  writeShardedSafetensors(folder_.path(), tensors_, 6);
  writeSafetensors(folder_.file("model.safetensors"), tensors_);
  expectBadInput([&] { SafetensorsCheckpoint::open(folder_.path()); }, {"holds both", "name one"});
}

TEST_F(CheckpointTest, ATensorThatIsNotInItsShardIsNamed) {
  writeSafetensors(folder_.file("s1"), {bytes("a", "1")});
  writeIndex("{\"weight_map\": {\"a\": \"s1\", \"b\": \"s1\"}}");
  expectRefused({index_, "\"b\" is not in its shard s1"});
}

TEST_F(CheckpointTest, ATensorInTwoShardsIsNamed) {
  writeSafetensors(folder_.file("s1"), {bytes("a", "1"), bytes("b", "1")});
  writeSafetensors(folder_.file("s2"), {bytes("b", "2"), bytes("c", "2")});
  writeIndex("{\"weight_map\": {\"a\": \"s1\", \"c\": \"s2\"}}");
  expectRefused({"\"b\" is in two shards", "s1", "s2"});
}

TEST_F(CheckpointTest, TensorsThatTheIndexDoesNotNameAreNotOffered) {
  writeSafetensors(folder_.file("s1"), {bytes("a", "1"), bytes("extra", "1")});
  writeIndex("{\"weight_map\": {\"a\": \"s1\"}}");
  EXPECT_FALSE(SafetensorsCheckpoint::open(index_).has("extra"));
}

TEST_F(CheckpointTest, AShardMayNotLieElsewhere) {
  makeDirectories(folder_.file("sub"));
  writeSafetensors(folder_.file("sub/s1"), {bytes("a", "1")});
  for (const std::string& shard : {std::string("../s1"), folder_.file("sub/s1"), std::string("sub/s1"),
                                   std::string(".."), std::string("."), std::string(""), std::string("s\\u0000")}) {
    writeIndex("{\"weight_map\": {\"a\":\n\"" + shard + "\"}}");
    expectRefused({index_ + ":2: /weight_map/a", "is not the name of a file beside the index"});
  }
}

TEST_F(CheckpointTest, AnIndexOfTheWrongFormIsRefused) {
  writeIndex("{\"weight_map\": {\"a\": 7}}");
  expectRefused({index_, "/weight_map/a", "expected a shard's file name"});
  writeIndex("{\"weight_map\": []}");
  expectRefused({index_, "/weight_map", "expected an object"});
  writeIndex("{}");
  expectRefused({index_, "missing key \"weight_map\""});
  writeIndex("{\"weight_map\": {\"a\": \"s1\", \"a\": \"s2\"}}");
  expectRefused({index_, "duplicate key \"a\""});
  writeIndex("{\"weight_map\": {\"a\": \"none\"}}");
  expectRefused({"none", "cannot open"});
  writeIndex("{\"weight_map\": {\"a\"");
  expectRefused({index_, "JSON"});
}

TEST_F(CheckpointTest, TheIndexGoesFirstAndComesLast) {
  // A folder that cannot take the shards shows the order: the old index is gone, and no new one points to half a set.
  writeShardedSafetensors(folder_.path(), tensors_, 1000);
  makeDirectories(folder_.file("model-00002-of-00002.safetensors"));
  testing_support::expectError(ErrorKind::kEnvironment, [&] { writeShardedSafetensors(folder_.path(), tensors_, 12); });
  EXPECT_TRUE(fileExists(folder_.file("model-00001-of-00002.safetensors")));
  EXPECT_FALSE(fileExists(index_));
}

}  // namespace
}  // namespace redraft
