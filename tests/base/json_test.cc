#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using Comments = JsonDocument::Comments;

JsonDocument parse(std::string_view text, Comments comments = Comments::kAllow) {
  return JsonDocument::parse(text, "t.json", comments);
}

TEST(JsonDocumentTest, KnowsTheLineOfEveryValue) {
  const JsonDocument document = parse(R"({
  "name": "dual",
  "list": [1,
           2
           , 3],
  "nested": { "deep":
    { "flag": true } },
  "after": null
})");
  EXPECT_EQ(document.line(""), 1);
  EXPECT_EQ(document.line("/name"), 2);
  EXPECT_EQ(document.line("/list"), 3);
  EXPECT_EQ(document.line("/list/0"), 3);
  EXPECT_EQ(document.line("/list/1"), 4) << "a number is read one character too far, here a newline";
  EXPECT_EQ(document.line("/list/2"), 5);
  EXPECT_EQ(document.line("/nested/deep"), 7);
  EXPECT_EQ(document.line("/nested/deep/flag"), 7);
  EXPECT_EQ(document.line("/after"), 8);
}

TEST(JsonDocumentTest, FallsBackToTheLineOfTheNearestAncestor) {
  const JsonDocument document = parse("{\n\"a\": [\n7\n]}");
  EXPECT_EQ(document.line("/a/0"), 3);
  EXPECT_EQ(document.line("/a/5"), 2);
  EXPECT_EQ(document.line("/a/0/x"), 3);
  EXPECT_EQ(document.line("/b"), 1);
}

TEST(JsonDocumentTest, FindsKeysThatNeedEscapes) {
  const JsonDocument document = parse("{\n\"a/b\": 1,\n\"c~d\": 2,\n\"\": 3,\n\"~1\":\n4}");
  EXPECT_EQ(document.line("/a~1b"), 2);
  EXPECT_EQ(document.line("/c~0d"), 3);
  EXPECT_EQ(document.line("/"), 4);
  EXPECT_EQ(document.line("/" + escapePointer("~1")), 6);
}

TEST(JsonDocumentTest, KeepsOrderAndValues) {
  const std::string text = R"({"z":1,"a":[-2,1.5,"s",true,null,{}],"m":{"k":[]},"big":18446744073709551615})";
  EXPECT_EQ(parse(text).root().dump(), text);
}

TEST(JsonDocumentTest, CountsLinesThroughComments) {
  const JsonDocument document = parse("// head\n{ /* two\nlines */ \"a\": 1, // tail\n\"b\": 2 }");
  EXPECT_EQ(document.line("/a"), 3);
  EXPECT_EQ(document.line("/b"), 4);
}

TEST(JsonDocumentTest, RefusesCommentsWhereTheFormatHasNone) {
  expectBadInput([] { parse("{\n// no\n}", Comments::kRefuse); }, {"t.json:2", "not JSON"});
}

TEST(JsonDocumentTest, RefusesADuplicateKeyAtItsLine) {
  expectBadInput([] { parse("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"); }, {"t.json:3", "duplicate key \"a\""});
  std::string large = "{";
  for (int i = 0; i < 100; ++i) large += "\"k" + std::to_string(i) + "\":0,\n";
  expectBadInput([&] { parse(large + "\"k7\":1}"); }, {"t.json:101", "duplicate key \"k7\""});
  expectBadInput([&] { parse(large + "\"k99\":1}"); }, {"t.json:101", "duplicate key \"k99\""});
  EXPECT_EQ(parse(large + "\"k100\":1}").root().size(), 101u);
}

TEST(JsonDocumentTest, TakesNestingOf64AndRefuses65) {
  EXPECT_NO_THROW(parse(std::string(64, '[') + std::string(64, ']')));
  expectBadInput([] { parse(std::string(65, '[') + std::string(65, ']')); }, {"t.json:1", "deeper than 64"});
  constexpr int kMany = 10'000'000;
  expectBadInput([] { parse(std::string(kMany, '[')); }, {"deeper than 64"});
}

TEST(JsonDocumentTest, RefusesWhatIsNotUtf8) {
  for (const char* text : {"{\n\"a\": \"\xff\"}", "{\n\"\xc0\x80\": 1}", "{\n\"a\": \"\xed\xa0\x80\"}"}) {
    expectBadInput([&] { parse(text); }, {"t.json:2", "UTF-8"});
  }
}

TEST(JsonDocumentTest, SaysThatADocumentEndsEarly) {
  expectBadInput([] { parse(""); }, {"t.json:1", "ends early"});
  expectBadInput([] { parse("{\n\"a\": [1,\n"); }, {"t.json:2", "ends early"});
  expectBadInput([] { parse("{\n\"a\": \"text"); }, {"t.json:2", "ends early"});
}

TEST(JsonDocumentTest, RefusesEveryProperPrefix) {
  const std::string text = "{\n\"a\": [1, 2.5e3, \"x\\u00e9é\"],\n\"b\": {\"c\": true, \"d\": null}\n}";
  EXPECT_NO_THROW(parse(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    expectBadInput([&] { parse(std::string_view(text).substr(0, length)); }, {"t.json:"});
  }
}

TEST(JsonDocumentTest, RefusesWhatFollowsTheDocument) {
  expectBadInput([] { parse("{}\n{}"); }, {"t.json:2"});
  expectBadInput([] { parse("[1]]"); }, {"t.json:1"});
  expectBadInput([] { parse(std::string_view("{}\n\0{}", 6)); }, {"t.json:2", "NUL"});
  expectBadInput([] { parse(std::string_view("\0", 1)); }, {"t.json:1", "NUL"});
}

TEST(JsonDocumentTest, RefusesNumbersThatNoDoubleHolds) {
  expectBadInput([] { parse("{\n\"a\": 1e999}"); }, {"t.json:2", "1e999"});
  expectBadInput([] { parse("[NaN]"); }, {"t.json:1"});
  expectBadInput([] { parse("[01]"); }, {"t.json:1"});
}

TEST(JsonDocumentTest, MessagesStayShortAndPrintable) {
  try {
    parse("[\"\x01" + std::string(1'000'000, 'a') + "\"]");
    FAIL() << "a control character was taken";
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
    EXPECT_EQ(error.message().find('\x01'), std::string::npos);
  }
}

TEST(JsonDocumentTest, ReadsAnObjectOfManyKeysWithoutQuadraticTime) {
  std::string text = "{";
  constexpr int kKeys = 200'000;
  for (int i = 0; i < kKeys; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(parse(text + "}").root().size(), static_cast<std::size_t>(kKeys));
}

TEST(JsonDocumentTest, TakesAByteOrderMark) { EXPECT_EQ(parse("\xef\xbb\xbf{\"a\": 1}").root().at("a"), 1); }

TEST(JsonDocumentTest, LoadsAFileUpToItsLimit) {
  const testing_support::TempFolder folder;
  const std::string path = folder.file("a.json");
  writeFileAtomically(path, "{\"a\": 1}");
  EXPECT_EQ(JsonDocument::load(path).root().at("a"), 1);
  EXPECT_EQ(JsonDocument::load(path, Comments::kAllow, 8).name(), path);
  expectBadInput([&] { JsonDocument::load(path, Comments::kAllow, 7); }, {path, "larger than 7"});
  expectBadInput([&] { JsonDocument::load(folder.file("none.json")); }, {"none.json", "cannot open"});
}

}  // namespace
}  // namespace redraft
