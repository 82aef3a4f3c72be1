#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "devices/driver.h"

namespace redraft::devices {
namespace {

Origin drafterInBackward() { return {roleId("drafter[1]"), Phase::kBackward, 8}; }

class OriginTest : public ::testing::Test {
 protected:
  OriginTest() { noteRefusal(Status::kSuccess, ""); }  // of an earlier test on this thread
  ~OriginTest() override { setOriginProvider(nullptr); }
};

TEST_F(OriginTest, ARoleKeepsItsIdAndName) {
  const RoleId first = roleId("target[0]");
  EXPECT_NE(first, 0);
  EXPECT_EQ(roleId("target[0]"), first);
  EXPECT_EQ(roleName(first), "target[0]");
  EXPECT_EQ(roleName(0), "none");
  EXPECT_EQ(roleId("none"), 0);
  EXPECT_EQ(roleName(65535), "unknown");
}

TEST_F(OriginTest, ThreadsThatRegisterTheSameNamesAgree) {
  std::vector<std::vector<RoleId>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 50; ++i) mine.push_back(roleId("racer[" + std::to_string(i) + "]"));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& other : ids) EXPECT_EQ(other, ids[0]);
  EXPECT_EQ(std::set<RoleId>(ids[0].begin(), ids[0].end()).size(), 50u);
}

TEST_F(OriginTest, WithoutAProviderThereIsNoOrigin) {
  EXPECT_EQ(currentOrigin().role, 0);
  EXPECT_EQ(currentOrigin().step, -1);
  setOriginProvider(&drafterInBackward);
  EXPECT_EQ(currentOrigin().step, 8);
  setOriginProvider(nullptr);
  EXPECT_EQ(currentOrigin().step, -1);
}

TEST_F(OriginTest, EveryPhaseHasItsOwnName) {
  std::set<std::string> names;
  for (int phase = 0; phase <= static_cast<int>(Phase::kCheckpoint); ++phase) {
    names.insert(phaseName(static_cast<Phase>(phase)));
  }
  EXPECT_EQ(names.size(), 13u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(phaseName(Phase::kRecompute), "recompute");
}

TEST_F(OriginTest, StatusesHaveCudasNumbersNamesAndWords) {
  EXPECT_EQ(static_cast<int>(Status::kInvalidHandle), 400);
  EXPECT_STREQ(statusName(Status::kInvalidHandle), "CUDA_ERROR_INVALID_HANDLE");
  EXPECT_STREQ(statusDescription(Status::kInvalidHandle), "invalid resource handle");
  EXPECT_STREQ(statusName(Status::kIllegalAddress), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_STREQ(statusName(static_cast<Status>(9999)), "CUDA_ERROR_UNKNOWN");
}

TEST_F(OriginTest, ADeviceErrorIsOneLineThatSaysEverythingAndARemedy) {
  setOriginProvider(&drafterInBackward);
  try {
    check(Status::kInvalidHandle, "launch", 7, "attention_forward/d64");
    FAIL() << "a refused call passed";
  } catch (const DeviceError& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.substr(0, what.find('\n')),
              "drafter[1], step 8, phase backward: launch on device 7 returned 400 CUDA_ERROR_INVALID_HANDLE (invalid "
              "resource handle): attention_forward/d64");
    EXPECT_NE(what.find("\n  remedy: "), std::string::npos);
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_EQ(error.status(), Status::kInvalidHandle);
    EXPECT_EQ(error.call(), "launch");
    EXPECT_EQ(error.device(), 7);
    EXPECT_EQ(error.origin().step, 8);
  }
}

TEST_F(OriginTest, CheckAddsWhatTheDriverSaidAndForgetsIt) {
  const auto message = [](Status status) {
    try {
      check(status, "copy", 0, "hidden states");
    } catch (const DeviceError& error) {
      return error.message();
    }
    return std::string();
  };
  noteRefusal(Status::kPeerAccessUnsupported, "no edge");
  EXPECT_NE(message(Status::kPeerAccessUnsupported).find("hidden states: no edge"), std::string::npos);
  EXPECT_EQ(message(Status::kPeerAccessUnsupported).find("no edge"), std::string::npos);
  noteRefusal(Status::kInvalidValue, "stale");
  EXPECT_EQ(message(Status::kOutOfMemory).find("stale"), std::string::npos) << "another call's refusal";
  EXPECT_EQ(message(Status::kSuccess), "");
}

}  // namespace
}  // namespace redraft::devices
