#include "model/pipeline/pipeline.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "devices/origin.h"
#include "model/instrument.h"
#include "model/pipeline/hand_off.h"
#include "tests/model/pipeline/temporary_folder.h"
#include "tests/model/pipeline/tiny_training.h"

namespace redraft::model {
namespace {

std::vector<std::string> bitsOf(const TinyTraining& training) {
  const TemporaryFolder folder;
  const TinyOutcome outcome = train(training, folder.path());
  EXPECT_EQ(outcome.steps.size(), static_cast<std::size_t>(training.steps));
  EXPECT_TRUE(outcome.replicasEqual);
  return outcome.bits();
}

TinyTraining with(int targets, int drafters, std::int64_t microBatches = 4, std::int64_t queueDepth = 4) {
  TinyTraining training;
  training.targets = targets;
  training.drafters = drafters;
  training.microBatches = microBatches;
  training.queueDepth = queueDepth;
  return training;
}

TEST(PipelineBitsTest, TheSameRunTwiceIsEqual) { EXPECT_EQ(bitsOf(with(2, 2)), bitsOf(with(2, 2))); }

TEST(PipelineBitsTest, OneDrafterWithTwoMicroBatchesEqualsTwoDraftersWithOne) {
  EXPECT_EQ(bitsOf(with(1, 1, 2)), bitsOf(with(1, 2, 2)));
}

TEST(PipelineBitsTest, OneByFourEqualsTwoByTwoEqualsFourByOne) {
  const std::vector<std::string> one = bitsOf(with(1, 1));
  EXPECT_EQ(bitsOf(with(1, 2)), one);
  EXPECT_EQ(bitsOf(with(1, 4)), one);
}

TEST(PipelineBitsTest, ProcessesOfOneDrafterEqualOneProcessOfAsMany) {
  const std::vector<std::string> one = bitsOf(with(1, 1));
  for (const auto& [processes, drafters] : {std::pair(2, 2), std::pair(4, 4), std::pair(2, 4), std::pair(3, 4)}) {
    TinyTraining several = with(4, drafters);
    several.processes = processes;
    EXPECT_EQ(bitsOf(several), one) << processes << " processes of " << drafters;
  }
}

TEST(PipelineTest, EveryStepHasTheSamplesOfAllRolesOfAllProcesses) {
  TinyTraining training = with(2, 2);
  training.processes = 2;
  const TemporaryFolder folder;
  for (const StepMetrics& step : train(training, folder.path()).steps) {
    std::vector<std::string> roles;
    for (const auto& [role, sample] : step.roles) roles.push_back(role);
    EXPECT_EQ(roles, (std::vector<std::string>{"drafter[0]", "drafter[1]", "target[0]", "target[1]"}));
  }
}

TEST(PipelineTest, ARankWithoutAWorkerIsRefused) {
  TinyTraining training = with(1, 2);
  training.processes = 2;
  const TemporaryFolder folder;
  try {
    train(training, folder.path());
    FAIL() << "one target cannot feed two processes";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "topology.roles.target");
    EXPECT_NE(error.message().find("2 processes"), std::string::npos);
  }
}

TEST(PipelineBitsTest, UnevenSharesAreEqualToo) { EXPECT_EQ(bitsOf(with(2, 3, 7)), bitsOf(with(1, 1, 7))); }

TEST(PipelineBitsTest, OneTargetEqualsSix) { EXPECT_EQ(bitsOf(with(1, 2)), bitsOf(with(6, 2))); }

TEST(PipelineBitsTest, QueueDepthOneEqualsEight) { EXPECT_EQ(bitsOf(with(3, 2, 4, 1)), bitsOf(with(3, 2, 4, 8))); }

TEST(PipelineBitsTest, ACheckpointedLossEqualsAPlainOne) {
  TinyTraining chunked = with(1, 1);
  chunked.chunkBlocks = 2;
  EXPECT_EQ(bitsOf(chunked), bitsOf(with(1, 1)));
}

TEST(PipelineBitsTest, BucketsOfAnySizeExchangedDuringOrAfterBackwardAreEqual) {
  const std::vector<std::string> one = bitsOf(with(1, 1));
  for (const std::int64_t bytes : {1, 4096}) {
    for (const bool overlapped : {true, false}) {
      for (const int drafters : {1, 2, 4}) {
        TinyTraining training = with(2, drafters);
        training.exchange = {bytes, overlapped};
        EXPECT_EQ(bitsOf(training), one) << bytes << ' ' << overlapped << ' ' << drafters;
      }
    }
  }
}

TEST(PipelineBitsTest, ProcessesExchangeBucketsWithTheSameBits) {
  TinyTraining several = with(4, 4);
  several.processes = 2;
  several.exchange.bucketBytes = 4096;
  EXPECT_EQ(bitsOf(several), bitsOf(with(1, 1)));
}

TEST(PipelineTest, TheOrderOfBucketsIsTheOneInWhichBackwardMakesGradients) {
  // Else the first bucket, and the exchange with it, would wait for the last gradient.
  EXPECT_EQ(gradientsAsMade(), backwardOrder(tinyDrafterConfig()));
}

TEST(PipelineTest, DigestsAndComparisonsAreKeptInTheStepsThatAreToKeepThem) {
  TinyTraining training = with(1, 2);
  training.steps = 5;
  training.digestEvery = 0;
  training.compareEvery = 3;
  const TemporaryFolder folder;
  const TinyOutcome outcome = train(training, folder.path());
  ASSERT_EQ(outcome.steps.size(), 5u);
  TinyTraining whole = with(1, 2);
  whole.steps = 5;
  const TemporaryFolder other;
  const TinyOutcome all = train(whole, other.path());
  for (const std::size_t step : {0u, 3u, 4u})
    EXPECT_EQ(outcome.steps[step].parametersHash, all.steps[step].parametersHash) << step;
  for (const std::size_t step : {1u, 2u}) EXPECT_EQ(outcome.steps[step].parametersHash, "") << step;
  EXPECT_NE(readFile(folder / "metrics.jsonl").find("\"digests\":false"), std::string::npos);
  EXPECT_EQ(readFile(other / "metrics.jsonl").find("\"digests\":false"), std::string::npos);
  EXPECT_LT(readFile(folder / "digests.bin").size(), readFile(other / "digests.bin").size() / 4);
}

TEST(PipelineTest, ATableStandsInForTheTargetsLayers) {
  TinyTraining training = with(2, 2);
  training.source = FeatureSource::kTable;
  TinyTraining alone = with(1, 1);
  alone.source = FeatureSource::kTable;
  EXPECT_EQ(bitsOf(training), bitsOf(alone));
  EXPECT_NE(bitsOf(alone), bitsOf(with(1, 1)));
}

TEST(PipelineBitsTest, AnotherSplitOfTheSameSamplesIsAnotherRun) {
  TinyTraining rows = with(1, 1, 2);
  rows.batchSize = 2;
  EXPECT_NE(bitsOf(rows), bitsOf(with(1, 1, 4)));
}

TEST(PipelineTest, TheLossIsTheGlobalTokenWeightedMeanHoweverSamplesAreBatched) {
  // Four samples a step, as 4 × 1 and as 2 × 2. A mean of micro-batch means would differ by per cents: their weights
  // do.
  const TemporaryFolder folder;
  const TinyOutcome single = train(with(1, 1, 4), folder.path());
  TinyTraining rows = with(1, 2, 2);
  rows.batchSize = 2;
  const TinyOutcome paired = train(rows, folder.path());
  const LossSums& a = single.steps.front().sums;
  const LossSums& b = paired.steps.front().sums;
  EXPECT_EQ(a.denominator, b.denominator);
  // Rows of another width go through products of other shapes: float32 rounding of a sum over some dozens of terms.
  EXPECT_NEAR(a.loss(), b.loss(), 64 * FLT_EPSILON * a.loss());
  EXPECT_NEAR(single.steps.front().gradNorm, paired.steps.front().gradNorm,
              1024 * FLT_EPSILON * single.steps.front().gradNorm);
}

TEST(PipelineTest, TrainingLowersTheLoss) {
  TinyTraining training = with(2, 2);
  training.steps = 20;
  const TemporaryFolder folder;
  const TinyOutcome outcome = train(training, folder.path());
  EXPECT_LT(outcome.steps.back().sums.loss(), 0.8 * outcome.steps.front().sums.loss());
}

TEST(PipelineTest, RunsInBfloat16WithEqualReplicas) {
  TinyTraining training = with(1, 2);
  training.dtype = at::kBFloat16;
  EXPECT_EQ(bitsOf(training), bitsOf(training));
}

TEST(PipelineTest, EveryRoleReportsWhatItDid) {
  const TemporaryFolder folder;
  const TinyOutcome outcome = train(with(2, 2), folder.path());
  for (const StepMetrics& step : outcome.steps) {
    ASSERT_EQ(step.roles.size(), 4u);
    std::int64_t targets = 0;
    std::int64_t drafters = 0;
    for (const auto& [role, sample] : step.roles) {
      (role[0] == 't' ? targets : drafters) += sample.tokens;
      EXPECT_GT(sample.busySeconds, 0) << role;
    }
    EXPECT_EQ(targets, step.tokens);
    EXPECT_EQ(drafters, step.tokens);
    EXPECT_GT(step.seconds, 0);
  }
}

TEST(PipelineResumeTest, AnInterruptedRunThatResumesEqualsAnUninterruptedOne) {
  TinyTraining training = with(2, 2);
  training.steps = 6;
  const TemporaryFolder whole;
  training.checkpointEvery = 2;
  training.checkpointFolder = whole / "checkpoint";
  const TinyOutcome uninterrupted = train(training, whole.path());

  const TemporaryFolder broken;
  training.checkpointFolder = broken / "checkpoint";
  const auto interrupt = [](const StepMetrics& metrics) {
    if (metrics.step == 4) throw std::runtime_error("interrupted");
  };
  EXPECT_THROW(train(training, broken.path(), interrupt), std::runtime_error);
  const TinyOutcome resumed = train(training, broken.path(), nullptr, true);

  ASSERT_EQ(resumed.steps.front().step, 4);
  const std::vector<std::string> all = uninterrupted.bits();
  EXPECT_EQ(resumed.bits(), std::vector<std::string>(all.begin() + 4, all.end()));
  EXPECT_EQ(readFile(broken / "digests.bin"), readFile(whole / "digests.bin"));
  EXPECT_EQ(readLines(broken / "metrics.jsonl").size(), readLines(whole / "metrics.jsonl").size());
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(readFile(broken / ("checkpoint/step-6/" + std::string(file))),
              readFile(whole / ("checkpoint/step-6/" + std::string(file))));
  }
}

TEST(PipelineResumeTest, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  TinyTraining training = with(1, 1);
  training.steps = 4;
  const TemporaryFolder folder;
  training.checkpointEvery = 2;
  training.checkpointFolder = folder / "checkpoint";
  const TinyOutcome whole = train(training, folder.path());
  std::filesystem::resize_file(folder / "checkpoint/step-4/optimizer.safetensors", 100);
  const auto newest = newestRunCheckpoint(training.checkpointFolder, "tiny");
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->steps, 2);
  const std::vector<std::string> all = whole.bits();
  EXPECT_EQ(train(training, folder.path(), nullptr, true).bits(), std::vector<std::string>(all.begin() + 2, all.end()));
}

TEST(PipelineResumeTest, ACheckpointOfAnotherConfigurationIsRefused) {
  TinyTraining training = with(1, 1);
  training.steps = 2;
  const TemporaryFolder folder;
  training.checkpointEvery = 2;
  training.checkpointFolder = folder / "checkpoint";
  train(training, folder.path());
  EXPECT_THROW(newestRunCheckpoint(training.checkpointFolder, "another"), Error);
  EXPECT_FALSE(newestRunCheckpoint(folder / "nothing", "tiny").has_value());
}

/// Throws in one role at one step.
class Saboteur : public Instrument {
 public:
  explicit Saboteur(std::string role) : role_(std::move(role)) { setInstrument(this); }
  ~Saboteur() override { setInstrument(nullptr); }
  void syncPoint(SyncPoint point, std::int64_t) override {
    const devices::Origin origin = devices::currentOrigin();
    const bool here = point == SyncPoint::kQueuePush || point == SyncPoint::kCollectiveEnter;
    if (here && origin.step == 1 && devices::roleName(origin.role) == role_) throw std::runtime_error(role_ + " broke");
  }

 private:
  std::string role_;
};

TEST(PipelineFailureTest, TheFirstErrorOfAnyRoleIsTheRunsErrorAndEndsAllOthers) {
  for (const std::string role : {"target[1]", "drafter[0]", "drafter[1]"}) {
    const Saboteur saboteur(role);
    const TemporaryFolder folder;
    try {
      train(with(2, 2), folder.path());
      FAIL() << role << " broke, and the run went on";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), role + " broke");
    }
  }
}

TEST(HandOffTest, CopiesOverAnAllowedEdgeAndRefusesAnother) {
  const at::Tensor feature = at::full({3}, 2.5, at::TensorOptions().device(tinyDevice(1)));
  const at::Tensor received = HandOff({feature}).receive(tinyDevice(4)).front();
  EXPECT_EQ(received.device(), tinyDevice(4));
  EXPECT_TRUE(at::equal(received.to(at::kCPU), at::full({3}, 2.5)));
  // Device 0 is no drafter's: the topology lets nothing be copied there.
  EXPECT_THROW(HandOff({feature}).receive(tinyDevice(0)), std::exception);
}

}  // namespace
}  // namespace redraft::model
