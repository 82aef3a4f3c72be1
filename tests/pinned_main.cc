// LibTorch reads its settings when it is loaded, so the pinned environment has to be there before the program starts.
#include <gtest/gtest.h>

#include "base/pinned_environment.h"

int main(int argc, char** argv) {
  redraft::restartPinned(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
