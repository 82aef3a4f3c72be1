#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/files.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using testing_support::expectError;
using testing_support::named;
using testing_support::safetensorsBytes;
using testing_support::TempFolder;
using testing_support::textOf;
using Shape = std::vector<std::int64_t>;

TEST(SafetensorsTest, ReadsTheFormatAsOthersWriteIt) {
  const std::string bytes = safetensorsBytes(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"I64","shape":[0,5],"data_offsets":[11,11]},)"
      R"("scalar":{"dtype":"BF16","shape":[],"data_offsets":[11,13]}}   )",
      "01234567abcXY");
  const SafetensorsFile file = SafetensorsFile::fromBytes(bytes, "m.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.at("a").dtype, Dtype::kF32);
  EXPECT_EQ(file.at("a").shape, (Shape{1, 2}));
  EXPECT_EQ(textOf(file.at("a")), "01234567");
  EXPECT_EQ(textOf(file.at("b")), "abc");
  EXPECT_EQ(file.at("none").bytes, 0u);
  EXPECT_EQ(file.at("scalar").shape, Shape{});
  EXPECT_EQ(textOf(file.at("scalar")), "XY");
  EXPECT_EQ(file.path(), "m.safetensors");
}

TEST(SafetensorsTest, WritesTheBytesThatTheFormatAsksFor) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  writeSafetensors(path, {named("w", Dtype::kF16, {2}, "wxyz"), named("a", Dtype::kBool, {1}, "1")}, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                             R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(readFile(path), safetensorsBytes(header + padding, "wxyz1"));
}

TEST(SafetensorsTest, EveryDtypeComesBack) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors"), data(16, 'd');
  std::vector<NamedTensor> tensors;
  for (const Dtype dtype : {Dtype::kBool, Dtype::kU8, Dtype::kI8, Dtype::kI16, Dtype::kI32, Dtype::kI64, Dtype::kF16,
                            Dtype::kBF16, Dtype::kF32, Dtype::kF64}) {
    tensors.push_back(
        named(std::string(dtypeName(dtype)), dtype, {2}, std::string_view(data).substr(0, 2 * dtypeSize(dtype))));
  }
  writeSafetensors(path, tensors);
  const SafetensorsFile file = SafetensorsFile::open(path);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const NamedTensor& tensor : tensors) {
    EXPECT_EQ(file.at(tensor.name).dtype, tensor.view.dtype);
    EXPECT_EQ(textOf(file.at(tensor.name)), textOf(tensor.view));
  }
}

TEST(SafetensorsTest, NamesMayHoldAnything) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  const std::string odd = "a/\"b\"\\\n é\x01";
  writeSafetensors(path, {named("", Dtype::kU8, {1}, "0"), named(odd, Dtype::kU8, {1}, "1")});
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(textOf(file.at("")), "0");
  EXPECT_EQ(textOf(file.at(odd)), "1");
}

TEST(SafetensorsTest, AFileWithoutTensorsIsAFile) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  writeSafetensors(path, {});
  EXPECT_TRUE(SafetensorsFile::open(path).tensors().empty());
}

TEST(SafetensorsTest, ViewsOutliveTheReplacementOfTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  writeSafetensors(path, {named("a", Dtype::kU8, {3}, "old")});
  const SafetensorsFile file = SafetensorsFile::open(path);
  const SafetensorsFile copy = file;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  writeSafetensors(path, {named("a", Dtype::kU8, {3}, "new")});
  EXPECT_EQ(textOf(copy.at("a")), "old");
  EXPECT_EQ(textOf(SafetensorsFile::open(path).at("a")), "new");
}

TEST(SafetensorsTest, AFileMayBeRewrittenFromItsOwnViews) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  writeSafetensors(path, {named("a", Dtype::kU8, {3}, "abc"), named("b", Dtype::kU8, {2}, "de")});
  {
    const SafetensorsFile file = SafetensorsFile::open(path);
    writeSafetensors(path, {{"b", file.at("b")}, {"a", file.at("a")}});
  }
  EXPECT_EQ(textOf(SafetensorsFile::open(path).at("a")), "abc");
}

TEST(SafetensorsTest, NamesTheNearestTensorForAMissingOne) {
  const std::string bytes = safetensorsBytes(R"({"layers.0.q":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "");
  const SafetensorsFile file = SafetensorsFile::fromBytes(bytes, "m.safetensors");
  EXPECT_FALSE(file.has("layers.1.q"));
  expectBadInput([&] { file.at("layers.1.q"); },
                 {"m.safetensors", "no tensor \"layers.1.q\"", "nearest is \"layers.0.q\""});
  expectBadInput([&] { file.at("completely.different"); }, {"is this the right file?"});
}

TEST(SafetensorsTest, AnUnwritablePlaceIsAnEnvironmentError) {
  const TempFolder folder;
  expectError(ErrorKind::kEnvironment, [&] { writeSafetensors(folder.file("none/m.safetensors"), {}); }, {"open"});
}

TEST(SafetensorsTest, TextThatIsNotUtf8IsRefusedAndNothingIsWritten) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  expectBadInput([&] { writeSafetensors(path, {named("\xff", Dtype::kU8, {1}, "0")}); }, {path, "UTF-8"});
  expectBadInput([&] { writeSafetensors(path, {}, {{"k", "\xff"}}); }, {path, "UTF-8"});
  EXPECT_TRUE(listDirectory(folder.path()).empty());
}

TEST(SafetensorsDeathTest, RefusesTensorsThatCannotBeWritten) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  const NamedTensor a = named("a", Dtype::kU8, {1}, "0");
  EXPECT_DEATH(writeSafetensors(path, {a, a}), "used twice");
  EXPECT_DEATH(writeShardedSafetensors(folder.path(), {a, a}, 1), "used twice");
  EXPECT_DEATH(writeSafetensors(path, {named("__metadata__", Dtype::kU8, {1}, "0")}), "reserved");
  EXPECT_DEATH(writeSafetensors(path, {named("a", Dtype::kF32, {1}, "0")}), "do not fit its shape");
  EXPECT_DEATH(writeSafetensors(path, {named("a", Dtype::kU8, {-1}, "0")}), "do not fit its shape");
}

}  // namespace
}  // namespace redraft
