#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/json.h"
#include "tests/support/expect_error.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

class JsonReaderTest : public testing::Test {
 protected:
  JsonReader read(std::string_view text) {
    document_ = JsonDocument::parse(text, "s.json");
    return JsonReader(document_);
  }

 private:
  JsonDocument document_;
};

TEST_F(JsonReaderTest, ReadsEveryType) {
  JsonReader reader = read(R"({"s": "text", "i": -3, "n": 2, "x": 0.5, "b": true, "is": [1, 2], "ss": ["a", "b"],
                               "c": "sim", "o": {"k": 1}, "os": [{"k": 1}, {"k": 2}], "v": [null], "skip": 0})");
  EXPECT_EQ(reader.string("s"), "text");
  EXPECT_EQ(reader.integer("i", -5, 5), -3);
  EXPECT_EQ(reader.number("n", 0, 9), 2);
  EXPECT_EQ(reader.number("x", 0, 1), 0.5);
  EXPECT_TRUE(reader.boolean("b", false));
  EXPECT_EQ(reader.integers("is", 0, 9), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(reader.strings("ss"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.choice("c", {"cuda", "sim"}, "cuda"), "sim");
  EXPECT_EQ(reader.object("o").integer("k", 0, 9), 1);
  std::vector<JsonReader> objects = reader.objects("os");
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[1].integer("k", 0, 9), 2);
  EXPECT_EQ(objects[1].pointer(), "/os/1");
  EXPECT_EQ(reader.value("v").dump(), "[null]");
  reader.ignore("skip");
  EXPECT_NO_THROW(reader.finish());
}

TEST_F(JsonReaderTest, FallsBackOnlyWhereTheKeyIsMissing) {
  JsonReader reader = read(R"({"null": null})");
  EXPECT_EQ(reader.string("a", "x"), "x");
  EXPECT_EQ(reader.integer("a", 0, 1, 7), 7);
  EXPECT_EQ(reader.number("a", 0, 1, 7.5), 7.5);
  EXPECT_TRUE(reader.boolean("a", true));
  EXPECT_EQ(reader.choice("a", {"x", "y"}, "y"), "y");
  EXPECT_FALSE(reader.has("a"));
  EXPECT_TRUE(reader.has("null"));
  expectBadInput([&] { reader.string("null", "x"); }, {"expected a string, found null"});
  expectBadInput([&] { reader.integer("null", 0, 1, 0); }, {"expected an integer, found null"});
  expectBadInput([&] { reader.number("null", 0, 1, 0); }, {"expected a number, found null"});
  expectBadInput([&] { reader.boolean("null", true); }, {"expected a boolean, found null"});
}

TEST_F(JsonReaderTest, NamesFileLineAndPointer) {
  JsonReader reader = read("{\n\"drafter\": {\n\"layers\":\n\"two\"}}");
  JsonReader drafter = reader.object("drafter");
  try {
    drafter.integer("layers", 1, 8);
    FAIL() << "text was read as an integer";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "s.json:4: /drafter/layers");
    EXPECT_EQ(error.message(), "expected an integer, found a string");
    EXPECT_EQ(error.remedy(), "write an integer from 1 to 8");
  }
  EXPECT_EQ(drafter.place(), "s.json:2: /drafter");
  EXPECT_EQ(reader.place(), "s.json:1");
}

TEST_F(JsonReaderTest, NamesTheElementOfAnArray) {
  JsonReader reader = read("{\"a\": [1,\n2,\n\"x\"], \"s\": [\"y\",\n0], \"o\": [{},\n[]]}");
  expectBadInput([&] { reader.integers("a", 0, 9); }, {"s.json:3: /a/2"});
  expectBadInput([&] { reader.integers("a", 0, 1); }, {"s.json:2: /a/1", "2 is out of range"});
  expectBadInput([&] { reader.strings("s"); }, {"s.json:4: /s/1"});
  expectBadInput([&] { reader.objects("o"); }, {"s.json:5: /o/1", "expected an object, found an array"});
}

TEST_F(JsonReaderTest, IntegersKeepTheirFullRangeAndNothingBeyond) {
  JsonReader reader = read(R"({"low": -9223372036854775808, "high": 9223372036854775807, "over": 9223372036854775808,
                               "far": 18446744073709551616, "float": 1.0, "exponent": 1e3})");
  EXPECT_EQ(reader.integer("low", kLowest, kHighest), kLowest);
  EXPECT_EQ(reader.integer("high", kLowest, kHighest), kHighest);
  expectBadInput([&] { reader.integer("over", kLowest, kHighest); }, {"9223372036854775808 is out of range"});
  expectBadInput([&] { reader.integer("far", kLowest, kHighest); }, {"expected an integer"});
  expectBadInput([&] { reader.integer("float", kLowest, kHighest); }, {"expected an integer"});
  expectBadInput([&] { reader.integer("exponent", kLowest, kHighest); }, {"expected an integer"});
}

TEST_F(JsonReaderTest, RangesIncludeTheirEnds) {
  JsonReader reader = read(R"({"i": 5, "x": 0.25})");
  EXPECT_EQ(reader.integer("i", 5, 5), 5);
  EXPECT_EQ(reader.number("x", 0.25, 0.25), 0.25);
  expectBadInput([&] { reader.integer("i", 6, 9); }, {"5 is out of range", "from 6 to 9"});
  expectBadInput([&] { reader.integer("i", 0, 4); }, {"5 is out of range", "from 0 to 4"});
  expectBadInput([&] { reader.number("x", 0.5, 1); }, {"0.25 is out of range", "from 0.5 to 1.0"});
}

TEST_F(JsonReaderTest, ProposesTheNearestKeyForAnUnknownOne) {
  JsonReader reader = read("{\"seed\": 1,\n\"stpes\": 4}");
  reader.integer("seed", 0, 9);
  reader.integer("steps", 0, 9, 3);
  reader.boolean("peer_access", false);
  expectBadInput([&] { reader.finish(); }, {"s.json:2: /stpes", "unknown key", "did you mean \"steps\"?"});
}

TEST_F(JsonReaderTest, ListsTheValidKeysWhereNoneIsNear) {
  JsonReader reader = read(R"({"whatever": 1})");
  reader.integer("steps", 0, 9, 3);
  reader.integer("seed", 0, 9, 3);
  expectBadInput([&] { reader.finish(); }, {"valid: \"steps\", \"seed\""});
}

TEST_F(JsonReaderTest, ProposesThePresentKeyForAMissingOne) {
  JsonReader reader = read(R"({"stpes": 1})");
  expectBadInput([&] { reader.integer("steps", 0, 9); }, {"missing key \"steps\"", "\"stpes\""});
}

TEST_F(JsonReaderTest, ListsTheChoicesAndTheNearest) {
  JsonReader reader = read(R"({"backend": "cdua"})");
  expectBadInput(
      [&] {
        reader.choice("backend", {"sim", "cuda"}, "sim");
      },
      {"\"cdua\" is not one of the choices", "did you mean \"cuda\"?", "\"sim\", \"cuda\""});
}

TEST_F(JsonReaderTest, EscapesKeysInPointers) {
  JsonReader reader = read("{\"a/b\":\n{\"c~d\":\n{\"x\": 1}}}");
  JsonReader inner = reader.object("a/b").object("c~d");
  EXPECT_EQ(inner.pointer(), "/a~1b/c~0d");
  EXPECT_EQ(inner.place("x"), "s.json:3: /a~1b/c~0d/x");
  EXPECT_EQ(inner.integer("x", 0, 9), 1);
}

TEST_F(JsonReaderTest, RefusesARootThatIsNoObject) {
  expectBadInput([&] { read("[1]"); }, {"s.json:1", "expected an object, found an array"});
}

TEST_F(JsonReaderTest, FailPutsTheCallersMessageInPlace) {
  JsonReader reader = read("{\n\"a\": 1}");
  expectBadInput([&] { reader.fail("a", "conflicts with b", "remove one"); },
                 {"s.json:2: /a: conflicts with b\n  remedy: remove one"});
}

}  // namespace
}  // namespace redraft
