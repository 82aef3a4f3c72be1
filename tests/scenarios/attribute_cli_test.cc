// `redraft attribute` over traces, as a user meets it.
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/step_trace.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

using testing_support::stepTrace;
using testing_support::TempFolder;

class AttributeCliTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  Outcome attribute(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "attribute");
    return runRedraft(folder_.path(), arguments);
  }

  TempFolder folder_;
};

TEST_F(AttributeCliTest, SplitsTheStepsOfATrace) {
  const Outcome split = attribute({file("a.json", stepTrace(100)), "--skip", "0"});
  EXPECT_EQ(split.code, 0) << split.err;
  EXPECT_NE(split.out.find("steps 0–2; left out: 3"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("device 0: 1.000 ms a step, 3 steps"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("0.500 ms  50.0 %  compute"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("gemm, grid 4x1x1 block 128x1x1"), std::string::npos) << split.out;
}

TEST_F(AttributeCliTest, SaysWhatGotSlowerAndByHowMuch) {
  const std::string a = file("a.json", stepTrace(100)), b = file("b.json", stepTrace(160));
  const Outcome difference = attribute({a, b});
  EXPECT_EQ(difference.code, 0) << difference.err;
  EXPECT_NE(difference.out.find("1 × 100 → 1 × 160 µs  softmax"), std::string::npos) << difference.out;
  const Json json = Json::parse(attribute({a, b, "--json"}).out);
  EXPECT_EQ(json["schema"], "redraft.attribution/1");
  const Json& device = json["difference"]["devices"][0];
  double sum = 0;
  for (const Json& change : device["changes"]) sum += change["change_ns"].get<double>();
  EXPECT_DOUBLE_EQ(sum, device["change_ns"].get<double>());
  EXPECT_EQ(Json::parse(attribute({a, "--json"}).out)["split"]["devices"][0]["parts_ns"]["compute"], 1'000'000);
}

TEST_F(AttributeCliTest, RefusesWhatItCannotRead) {
  const std::string good = file("a.json", stepTrace(100));
  EXPECT_EQ(attribute({folder_.file("absent")}).code, 2);
  EXPECT_EQ(attribute({good, file("empty.json", R"({"traceEvents": []})")}).code, 2);
  const Outcome skipped = attribute({good, "--skip", "4"});
  EXPECT_EQ(skipped.code, 2);
  EXPECT_NE(skipped.err.find("has 4 steps, and 4 are to be left out"), std::string::npos) << skipped.err;
}

}  // namespace
}  // namespace redraft::scenarios
