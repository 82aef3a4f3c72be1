#include "golden/values.h"

#include <gtest/gtest.h>

#include <functional>

#include "golden/compare.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

std::string textOf(const std::vector<Value>& values, const std::string& key) {
  for (const Value& value : values)
    if (value.key == key) return value.text;
  return "not there";
}

/// The message, with its key, of the values after `change`.
std::string refusal(const std::function<void(std::vector<Value>&)>& change) {
  Record record = exampleRecord();
  std::vector<Value> values = valuesOf(record);
  change(values);
  try {
    setValues(values, record);
  } catch (const BadValue& bad) {
    return bad.key() + ": " + bad.what();
  }
  return "accepted";
}

void take(std::vector<Value>& values, const std::string& key) {
  std::erase_if(values, [&](const Value& value) { return value.key == key; });
}

TEST(ValuesTest, EveryNumberHasAKeyOfItsOwnThatSaysWhatItIs) {
  const std::vector<Value> values = valuesOf(exampleRecord());
  EXPECT_EQ(textOf(values, "step/1/loss"), "0x1.1p+2");
  EXPECT_EQ(textOf(values, "step/2/parameters_hash"), std::string(32, 'c'));
  EXPECT_EQ(textOf(values, "evaluation/accept_lengths"), "2 3 1");
  EXPECT_EQ(textOf(values, "peak_bytes/6"), "4096");
  EXPECT_EQ(textOf(values, "step/0/gradient/fc.weight").substr(0, 16), "0x1p+0 0x1p-1 11");
  EXPECT_EQ(seriesOf("step/17/gradient/fc.weight"), "step/*/gradient/fc.weight");
  EXPECT_EQ(seriesOf("evaluation/text_hash"), "evaluation/text_hash");
}

TEST(ValuesTest, ARecordComesBackFromItsValues) {
  Record back = exampleRecord();
  back.steps.clear();
  back.gradients.clear();
  back.evaluation.reset();
  setValues(valuesOf(exampleRecord()), back);
  EXPECT_EQ(compareNumerics(exampleRecord(), back).outcome, Outcome::kEqual);
  EXPECT_EQ(back.peakBytes, exampleRecord().peakBytes);
}

TEST(ValuesTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_NE(refusal([](auto& values) { take(values, "step/1/gradient/fc.weight"); }).find("1 gradients of 2"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& values) { take(values, "step/1/parameters_hash"); }).find("step/1/parameters_hash"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& values) { take(values, "evaluation/text_hash"); }).find("evaluation"), std::string::npos);
  EXPECT_NE(refusal([](auto& values) { std::swap(values.front(), values.back()); }), "accepted");
}

TEST(ValuesTest, RefusesKeysAndNumbersThatAreNone) {
  for (const Value& bad : {Value{"loss", "0x1p+0"}, Value{"step/x/loss", "0x1p+0"}, Value{"step/03/loss", "0x1p+0"},
                           Value{"step/-1/loss", "0x1p+0"}, Value{"step/9/loss", "1.5 or so"},
                           Value{"step/9/gradient/none.weight", "0x1p+0"}, Value{"evaluation/mood", "good"},
                           Value{"peak_bytes/x", "1"}, Value{"peak_bytes/1", "-1"}}) {
    EXPECT_EQ(refusal([&](auto& values) { values.push_back(bad); }).substr(0, bad.key.size()), bad.key) << bad.key;
  }
}

}  // namespace
}  // namespace redraft::golden
