// base/record.h: what is declared once is written and read alike, and reading is strict.
#include "base/record.h"

#include <gtest/gtest.h>

#include "reports/result.h"

namespace redraft {
namespace {

struct Inner {
  int number = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("number", number);
  }
};

struct Outer {
  std::string text;
  std::optional<double> maybe;
  std::vector<Inner> list;
  std::map<std::string, std::int64_t> map;
  reports::Verdict verdict = reports::Verdict::kPassed;
  bool flag = true;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("text", text);
    visit("maybe", maybe);
    visit("list", list);
    visit("map", map);
    visit("verdict", verdict);
    visit.unless("flag", flag, true);
  }
};

std::string readError(const std::string& text) {
  try {
    recordFromJson<Outer>(Json::parse(text), "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const char* kWhole = R"({"text":"t","list":[{"number":1}],"map":{"a":2},"verdict":"HUNG"})";

TEST(RecordTest, WritesWhatItReads) {
  const auto outer = recordFromJson<Outer>(Json::parse(kWhole), "file");
  EXPECT_EQ(outer.list.at(0).number, 1);
  EXPECT_EQ(outer.map.at("a"), 2);
  EXPECT_EQ(outer.verdict, reports::Verdict::kHung);
  EXPECT_TRUE(outer.flag);
  EXPECT_FALSE(outer.maybe.has_value());
  EXPECT_EQ(oneLine(recordToJson(outer)), kWhole);
}

TEST(RecordTest, ErrorsNameThePlaceOfTheValue) {
  const auto with = [](const std::string& key, const std::string& value) {
    Json json = Json::parse(kWhole);
    json[key] = Json::parse(value);
    return readError(json.dump());
  };
  EXPECT_NE(with("list", R"([{"number":1},{"number":"x"}])").find("file/list/1/number: expected an integer"),
            std::string::npos);
  EXPECT_NE(with("map", R"({"a":1.5})").find("file/map/a: expected an integer"), std::string::npos);
  EXPECT_NE(with("verdict", R"("passed")").find("file/verdict: no such name"), std::string::npos);
  EXPECT_NE(with("flag", "1").find("file/flag: expected true or false"), std::string::npos);
  EXPECT_NE(with("list", R"([{"number":4294967296}])").find("out of range"), std::string::npos);
  EXPECT_NE(with("flog", "true").find("did you mean \"flag\""), std::string::npos);
  EXPECT_NE(readError("{}").find("file/text: the key is missing"), std::string::npos);
  EXPECT_NE(readError("[]").find("expected an object"), std::string::npos);
}

TEST(RecordTest, TextThatIsNotUtf8IsStillWritten) {
  Outer outer;
  outer.text = "a\xff";
  EXPECT_EQ(recordFromJson<Outer>(Json::parse(oneLine(recordToJson(outer))), "file").text, "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace redraft
