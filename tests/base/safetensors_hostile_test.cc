// Files that lie about themselves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/files.h"
#include "base/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using testing_support::littleEndian64;
using testing_support::safetensorsBytes;
using testing_support::TempFolder;

void expectRefused(const std::string& bytes, const std::vector<std::string>& parts) {
  SCOPED_TRACE(bytes.size() < 500 ? bytes : "a large file");
  expectBadInput([&] { SafetensorsFile::fromBytes(bytes, "h.safetensors"); }, parts);
}

void expectHeaderRefused(const std::string& header, const std::string& data, const std::vector<std::string>& parts) {
  expectRefused(safetensorsBytes(header, data), parts);
}

/// One tensor "w" of one byte, with a field replaced.
std::string withField(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(HostileSafetensorsTest, EveryTruncationIsRefused) {
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  const std::string bytes =
      safetensorsBytes(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})",
                       "01234567abc");
  EXPECT_NO_THROW(SafetensorsFile::fromBytes(bytes, "whole"));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    expectRefused(bytes.substr(0, length), {"h.safetensors"});
    writeFileAtomically(path, bytes.substr(0, length));
    expectBadInput([&] { SafetensorsFile::open(path); }, {path});
  }
}

TEST(HostileSafetensorsTest, AHugeHeaderLengthIsRefusedBeforeItIsUsed) {
  for (const std::uint64_t length :
       {std::uint64_t{100}, std::uint64_t{100'000'001}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    expectRefused(littleEndian64(length) + "{}", {"header of " + std::to_string(length) + " bytes exceeds"});
  }
}

TEST(HostileSafetensorsTest, ASparseTerabyteCostsNoMemory) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's map of the address space has no room for a terabyte";
#endif
  const TempFolder folder;
  const std::string path = folder.file("m.safetensors");
  writeFileAtomically(path, littleEndian64(100'000'001) + "{");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
  expectBadInput([&] { SafetensorsFile::open(path); }, {"exceeds the limit of 100 MB"});
}

TEST(HostileSafetensorsTest, AHeaderThatIsNoObjectIsRefused) {
  expectRefused(littleEndian64(0), {"does not start with '{'"});
  for (const char* header : {" {}", "[]", "[", "\"x\"", "7", "null", "\xef\xbb\xbf{}"}) {
    expectHeaderRefused(header, "", {"does not start with '{'"});
  }
}

TEST(HostileSafetensorsTest, AHeaderThatIsNotJsonIsRefused) {
  for (const char* header : {"{", "{}}", "{} x", "{\"w\"}", "{\"\xff\":{}}", "{/**/}"}) {
    expectHeaderRefused(header, "", {"h.safetensors: header", "JSON"});
  }
  expectHeaderRefused(std::string("{}\0{}", 5), "", {"NUL"});
}

TEST(HostileSafetensorsTest, UnknownDtypesAreNamedWithTheKnownOnes) {
  expectHeaderRefused(withField("\"F8\"", "[1]", "[0,1]"), "x", {"tensor \"w\"", "\"F8\"", "BF16"});
  expectHeaderRefused(withField("\"f32\"", "[1]", "[0,1]"), "x", {"\"f32\""});
  expectHeaderRefused(withField("7", "[1]", "[0,1]"), "x", {"found a number in \"dtype\""});
  expectHeaderRefused(withField("[\"U8\"]", "[1]", "[0,1]"), "x", {"found an array in \"dtype\""});
}

TEST(HostileSafetensorsTest, ShapesThatOverflowAreRefused) {
  const std::string big = "9223372036854775807";
  expectHeaderRefused(withField("\"F32\"", "[" + big + "]", "[0,1]"), "x", {"size of its shape overflows"});
  expectHeaderRefused(withField("\"U8\"", "[4294967296,4294967296]", "[0,0]"), "", {"size of its shape overflows"});
  expectHeaderRefused(withField("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), "", {"size of its shape overflows"});
  expectHeaderRefused(withField("\"U8\"", "[18446744073709551615]", "[0,1]"), "x", {"an extent overflows"});
  expectHeaderRefused(withField("\"U8\"", "[18446744073709551616]", "[0,1]"), "x", {"no integer"});
}

TEST(HostileSafetensorsTest, ShapesThatAreNoShapesAreRefused) {
  expectHeaderRefused(withField("\"U8\"", "[-1]", "[0,1]"), "x", {"a negative number in \"shape\""});
  expectHeaderRefused(withField("\"U8\"", "[1.0]", "[0,1]"), "x", {"no integer in \"shape\""});
  expectHeaderRefused(withField("\"U8\"", "[[1]]", "[0,1]"), "x", {"an array in \"shape\""});
  expectHeaderRefused(withField("\"U8\"", "[null]", "[0,1]"), "x", {"null in \"shape\""});
  expectHeaderRefused(withField("\"U8\"", "{}", "[0,1]"), "x", {"an object in \"shape\""});
  expectHeaderRefused(withField("\"U8\"", "1", "[0,1]"), "x", {"a number in \"shape\""});
  std::string dimensions = "1";
  for (int i = 1; i < 64; ++i) dimensions += ",1";
  EXPECT_NO_THROW(
      SafetensorsFile::fromBytes(safetensorsBytes(withField("\"U8\"", "[" + dimensions + "]", "[0,1]"), "x"), "64"));
  expectHeaderRefused(withField("\"U8\"", "[" + dimensions + ",1]", "[0,1]"), "x", {"more than 64 dimensions"});
}

TEST(HostileSafetensorsTest, OffsetsMustFitTheFileAndTheShape) {
  expectHeaderRefused(withField("\"U8\"", "[1]", "[0,2]"), "x", {"[0, 2] exceed the 1 bytes"});
  expectHeaderRefused(withField("\"U8\"", "[1]", "[1,0]"), "x", {"not in order"});
  expectHeaderRefused(withField("\"U8\"", "[1]", "[18446744073709551615,0]"), "x", {"not in order"});
  expectHeaderRefused(withField("\"U8\"", "[2]", "[0,1]"), "x", {"needs 2 bytes"});
  expectHeaderRefused(withField("\"F32\"", "[1]", "[0,3]"), "xyz", {"needs 4 bytes"});
  expectHeaderRefused(withField("\"U8\"", "[1]", "[0]"), "x", {"not [begin, end]"});
  expectHeaderRefused(withField("\"U8\"", "[1]", "[0,1,1]"), "x", {"not [begin, end]"});
  expectHeaderRefused(withField("\"U8\"", "[1]", "[-1,0]"), "x", {"negative number in \"data_offsets\""});
  expectHeaderRefused(withField("\"U8\"", "[1]", "\"0,1\""), "x", {"a string in \"data_offsets\""});
}

std::string twoTensors(const std::string& first, const std::string& second) {
  return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
         R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
}

TEST(HostileSafetensorsTest, OverlapsAndHolesAreRefused) {
  EXPECT_NO_THROW(SafetensorsFile::fromBytes(safetensorsBytes(twoTensors("[2,4]", "[0,2]"), "wxyz"), "fine"));
  expectHeaderRefused(twoTensors("[0,2]", "[1,3]"), "xyz", {"tensor \"b\"", "overlaps another tensor at byte 1"});
  expectHeaderRefused(twoTensors("[0,2]", "[0,2]"), "xy", {"overlaps"});
  expectHeaderRefused(twoTensors("[0,2]", "[3,5]"), "vwxyz", {"tensor \"b\"", "a hole before it, from byte 2"});
  expectHeaderRefused(twoTensors("[1,3]", "[3,5]"), "vwxyz", {"tensor \"a\"", "a hole before it, from byte 0"});
  expectHeaderRefused(twoTensors("[0,2]", "[2,4]"), "vwxyz", {"end at byte 4, the data at 5"});
  expectHeaderRefused("{}", "x", {"end at byte 0, the data at 1"});
}

TEST(HostileSafetensorsTest, NamesAndKeysMustBeDistinctAndKnown) {
  const std::string field = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expectHeaderRefused("{\"a\":" + field + ",\"a\":" + field + "}", "", {"two tensors \"a\""});
  expectHeaderRefused("{\"a\":" + field + ",\"\\u0061\":" + field + "}", "", {"two tensors \"a\""});
  expectHeaderRefused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "", {"two \"dtype\""});
  expectHeaderRefused(R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})", "", {"two \"shape\""});
  expectHeaderRefused(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", "", {"unknown key \"x\""});
  expectHeaderRefused(R"({"a":{"dtype":"U8","shape":[0]}})", "", {"tensor \"a\"", "lacks one of"});
  expectHeaderRefused(R"({"a":{}})", "", {"lacks one of"});
  expectHeaderRefused(R"({"a":7})", "", {"found a number"});
  expectHeaderRefused(R"({"a":null})", "", {"found null"});
  expectHeaderRefused(R"({"a":[]})", "", {"found an array"});
}

TEST(HostileSafetensorsTest, MetadataAreDistinctTexts) {
  expectHeaderRefused(R"({"__metadata__":{"k":1}})", "", {"found a number as metadata \"k\""});
  expectHeaderRefused(R"({"__metadata__":{"k":{}}})", "", {"found an object as metadata \"k\""});
  expectHeaderRefused(R"({"__metadata__":{"k":"a","k":"b"}})", "", {"duplicate metadata \"k\""});
  expectHeaderRefused(R"({"__metadata__":{},"__metadata__":{}})", "", {"two \"__metadata__\""});
  expectHeaderRefused(R"({"__metadata__":"k"})", "", {"found a string"});
  expectHeaderRefused(R"({"__metadata__":[]})", "", {"found an array"});
}

TEST(HostileSafetensorsTest, DeepNestingIsRefusedAtItsFirstLevel) {
  expectHeaderRefused("{\"a\":" + std::string(5'000'000, '['), "", {"found an array"});
  expectHeaderRefused("{\"a\":{\"shape\":" + std::string(5'000'000, '['), "", {"an array in \"shape\""});
}

TEST(HostileSafetensorsTest, NoFileAFolderAndAnEmptyFileAreNamed) {
  const TempFolder folder;
  expectBadInput([&] { SafetensorsFile::open(folder.file("none")); }, {"none", "cannot open"});
  expectBadInput([&] { SafetensorsFile::open(folder.path()); }, {"is a folder"});
  writeFileAtomically(folder.file("empty"), "");
  expectBadInput([&] { SafetensorsFile::open(folder.file("empty")); }, {"is empty"});
}

}  // namespace
}  // namespace redraft
