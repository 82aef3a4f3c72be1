// `redraft audit` over traces, as a user meets it.
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

using testing_support::TempFolder;

/// One launch on each of these devices, all by one thread.
std::string traceOn(const std::vector<int>& devices) {
  std::string events;
  int correlation = 0;
  for (const int device : devices) {
    const std::string id = std::to_string(++correlation), on = std::to_string(device);
    events +=
        (events.empty() ? "" : ",") +
        (R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 5, "ts": )" + id +
         R"(, "dur": 1, "args": {"correlation": )" + id + "}},") +
        (R"({"ph": "X", "cat": "kernel", "name": "k", "pid": )" + on + R"(, "tid": 7, "ts": )" + id +
         R"(.5, "dur": 1, "args": {"device": )" + on + R"(, "context": 1, "stream": 7, "correlation": )" + id + "}}");
  }
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

class AuditCliTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  Outcome audit(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "audit");
    return runRedraft(folder_.path(), arguments);
  }

  TempFolder folder_;
};

TEST_F(AuditCliTest, HoldsATraceToTheContractOfAGoodOne) {
  const std::string good = file("good.json", traceOn({0, 0})), contract = folder_.file("contract.json");
  EXPECT_EQ(audit({good}).code, 0);
  EXPECT_EQ(audit({good, "--infer", contract}).code, 0);
  const Outcome clean = audit({good, "--contract", contract});
  EXPECT_EQ(clean.code, 0) << clean.out;
  EXPECT_NE(clean.out.find("clean             A1   wrong-device"), std::string::npos) << clean.out;
  const Outcome found = audit({file("bad.json", traceOn({0, 1})), "--contract", contract});
  EXPECT_EQ(found.code, 1);
  EXPECT_NE(found.out.find("found (1)         A1   wrong-device"), std::string::npos) << found.out;
}

TEST_F(AuditCliTest, PrintsOneDocumentForMachines) {
  const std::string good = file("good.json", traceOn({0}));
  const Json json = Json::parse(audit({good, "--json"}).out);
  EXPECT_EQ(json["schema"], "redraft.audit/1");
  EXPECT_EQ(json["trace"]["events"], 2);
  EXPECT_EQ(json["trace"]["checks"].size(), 14u);
  EXPECT_EQ(json["trace"]["checks"][13]["id"], "A14");
}

TEST_F(AuditCliTest, RefusesWhatItCannotRead) {
  const std::string good = file("good.json", traceOn({0}));
  const Outcome cut = audit({file("cut.json", traceOn({0}).substr(0, 90))});
  EXPECT_EQ(cut.code, 2);
  EXPECT_NE(cut.err.find("cut.json: byte"), std::string::npos) << cut.err;
  EXPECT_EQ(audit({good, "--contract", folder_.file("absent")}).code, 2);
  EXPECT_EQ(audit({good, "--contract", file("contract.json", "{}")}).code, 2);
  EXPECT_EQ(audit({good, "--contract", good, "--infer", folder_.file("x")}).code, 2);
  EXPECT_EQ(audit({file("empty.json", R"({"traceEvents": []})"), "--infer", folder_.file("x")}).code, 2);
  EXPECT_FALSE(fileExists(folder_.file("x")));
  const TempFolder nothing;
  EXPECT_EQ(audit({nothing.path()}).code, 2);
}

}  // namespace
}  // namespace redraft::scenarios
