// `redraft attribute` over traces, as a user meets it.
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

using testing_support::TempFolder;

/// Four steps of two kernels, as torch.profiler writes them; the second takes `micros` and begins where the first ends.
std::string traceOf(int micros) {
  std::string events;
  int correlation = 0;
  for (int step = 0; step < 4; ++step) {
    const std::string at = std::to_string(step * 1000);
    events +=
        (step == 0 ? "" : ",") + (R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" +
                                  std::to_string(step) + R"(", "pid": 1, "tid": 5, "ts": )" + at + R"(, "dur": 999})");
    for (const auto& [name, begin, length] : {std::tuple("gemm", 10, 400), std::tuple("softmax", 410, micros)}) {
      const std::string id = std::to_string(++correlation), start = std::to_string(step * 1000 + begin);
      events +=
          R"(,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 5, "ts": )" + at +
          R"(.5, "dur": 1, "args": {"correlation": )" + id + "}}" + R"(,{"ph": "X", "cat": "kernel", "name": ")" +
          name + R"(", "pid": 0, "tid": 7, "ts": )" + start + R"(, "dur": )" + std::to_string(length) +
          R"(, "args": {"device": 0, "context": 1, "stream": 7, "grid": [4, 1, 1], "block": [128,1,1], "correlation": )" +
          id + "}}";
    }
  }
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

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
  const Outcome split = attribute({file("a.json", traceOf(100)), "--skip", "0"});
  EXPECT_EQ(split.code, 0) << split.err;
  EXPECT_NE(split.out.find("steps 0–2; left out: 3"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("device 0: 1.000 ms a step, 3 steps"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("0.500 ms  50.0 %  compute"), std::string::npos) << split.out;
  EXPECT_NE(split.out.find("gemm, grid 4x1x1 block 128x1x1"), std::string::npos) << split.out;
}

TEST_F(AttributeCliTest, SaysWhatGotSlowerAndByHowMuch) {
  const std::string a = file("a.json", traceOf(100)), b = file("b.json", traceOf(160));
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
  const std::string good = file("a.json", traceOf(100));
  EXPECT_EQ(attribute({folder_.file("absent")}).code, 2);
  EXPECT_EQ(attribute({good, file("empty.json", R"({"traceEvents": []})")}).code, 2);
  const Outcome skipped = attribute({good, "--skip", "4"});
  EXPECT_EQ(skipped.code, 2);
  EXPECT_NE(skipped.err.find("has 4 steps, and 4 are to be left out"), std::string::npos) << skipped.err;
}

}  // namespace
}  // namespace redraft::scenarios
