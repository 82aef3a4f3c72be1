// Role, step and phase follow the work.
#include "model/role.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace redraft::model {
namespace {

using devices::currentOrigin;
using devices::Phase;

TEST(RoleScopeTest, NestsAndChangesOnlyWhatItNames) {
  EXPECT_EQ(currentOrigin().role, 0);
  {
    const RoleScope role("drafter[0]");
    const StepScope step(7);
    {
      const PhaseScope phase(Phase::kLoss);
      EXPECT_EQ(devices::roleName(currentOrigin().role), "drafter[0]");
      EXPECT_EQ(currentOrigin().step, 7);
      EXPECT_EQ(currentOrigin().phase, Phase::kLoss);
      const PhaseScope inner(Phase::kRecompute);
      EXPECT_EQ(currentOrigin().phase, Phase::kRecompute);
    }
    EXPECT_EQ(currentOrigin().phase, Phase::kNone);
    EXPECT_EQ(currentOrigin().step, 7);
  }
  EXPECT_EQ(currentOrigin().role, 0);
  EXPECT_EQ(currentOrigin().step, -1);
}

TEST(RoleScopeTest, OtherThreadsDoNotSeeIt) {
  const RoleScope role("drafter[0]");
  std::thread([] { EXPECT_EQ(currentOrigin().role, 0); }).join();
}

TEST(RoleScopeTest, TasksLaunchedWithinItDo) {
  const RoleScope role("target[3]");
  std::promise<std::string> seen;
  at::launch([&] { seen.set_value(devices::roleName(currentOrigin().role)); });
  EXPECT_EQ(seen.get_future().get(), "target[3]");
}

}  // namespace
}  // namespace redraft::model
