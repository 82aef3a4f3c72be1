// Six training steps beside SpecForge's own numbers, from a file that lies in this repository: the drafter's half of
// the fixture "edge_rows" (dropped blocks, a row without any, tied table, MASK inside the text), its large references
// reduced to norms and projections by data/make_reference.py.
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "model/optimizer.h"
#include "model/train_step.h"
#include "tests/model/stack/tiny_models.h"
#include "tests/paths.h"

namespace redraft::model {
namespace {

constexpr std::size_t kProjections = 16;
constexpr double kFloor = 1e-5;  // the bound of section "Bounds" in docs/parity.md
constexpr double kParameterFloor = 1e-4;
// A projection of an error is normal with the error's norm as deviation: beyond 5 deviations once in 1.7 million.
constexpr double kDeviations = 5;

double sign(std::uint64_t projection, std::uint64_t index) {
  std::uint64_t x = (index * kProjections + projection + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return ((x ^ (x >> 31)) & 1) != 0 ? 1.0 : -1.0;
}

class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest()
      : file_(SafetensorsFile::open(std::string(kSourceFolder) + "/tests/model/stack/data/edge_rows.safetensors")),
        meta_(JsonDocument::parse(file_.metadata().at("meta"), "meta")),
        config_(readDrafterConfig(JsonReader(meta_, "/drafter_config"))) {
    table_ = tensor("table");
    feature_ = tensor("ref.context_feature");
    ids_ = tensor("in.input_ids");
    mask_ = tensor("in.loss_mask") > 0.5;
  }

  at::Tensor tensor(const std::string& name) const { return toTensor(file_.at(name)); }

  Drafter drafter() const {
    return {config_,
            loadParameters(TensorSource::within(file_, "drafter."), drafterParameters(config_), at::kFloat, at::kCPU)};
  }

  BlockPlan plan(std::int64_t step) const {
    const auto width = meta_.root().at("anchors_per_step").at(static_cast<std::size_t>(step)).get<std::int64_t>();
    const Anchors anchors = {tensor("in.anchor_positions")[step].narrow(1, 0, width).contiguous(),
                             (tensor("in.block_keep_mask")[step].narrow(1, 0, width) != 0).contiguous()};
    return planBlocks(ids_, mask_, anchors, config_.blockSize, config_.maskTokenId,
                      meta_.root().at("training").at("loss_decay_gamma").get<double>());
  }

  void expectReduced(const at::Tensor& x, const std::string& name, double bound) const {
    const at::Tensor values = x.detach().to(at::kDouble).contiguous().view(-1);
    const double* data = values.const_data_ptr<double>();
    const at::Tensor reference = tensor(name);
    const double norm = reference[0].item<double>();
    EXPECT_LE(std::fabs(values.norm().item<double>() - norm), bound * norm) << name;
    for (std::size_t p = 0; p < kProjections; ++p) {
      double projection = 0;
      for (std::int64_t i = 0; i < values.numel(); ++i) projection += sign(p, static_cast<std::uint64_t>(i)) * data[i];
      const double expected = reference[static_cast<std::int64_t>(p) + 1].item<double>();
      EXPECT_LE(std::fabs(projection - expected), kDeviations * bound * norm) << name << ", projection " << p;
    }
  }

  SafetensorsFile file_;
  JsonDocument meta_;
  DrafterConfig config_;
  at::Tensor table_, feature_, ids_, mask_;
};

TEST_F(ReferenceTest, DrafterOutputIsSpecForges) {
  const c10::NoGradGuard frozen;
  expectReduced(draftHidden(drafter(), {table_, table_}, feature_, plan(0)), "ref.drafter_hidden", kFloor);
}

TEST_F(ReferenceTest, SixStepsOfTrainingAreSpecForges) {
  const Drafter model = drafter();
  std::vector<std::string> names;
  for (const ParameterSpec& spec : drafterParameters(config_)) names.push_back(spec.name);
  AdamW optimizer(model.parameters(), names);
  const at::Tensor losses = tensor("ref.losses");
  const at::Tensor accuracies = tensor("ref.accuracies");
  const at::Tensor norms = tensor("ref.grad_norms");
  ASSERT_EQ(losses.numel(), 6);
  for (std::int64_t step = 0; step < losses.numel(); ++step) {
    MicroBatchResult result = trainMicroBatch(model, {table_, table_}, feature_, plan(step), {LossType::kDflash, 4});
    for (at::Tensor& gradient : result.gradients) gradient.div_(result.sums.denominator);
    for (std::size_t i = 0; step == 0 && i < names.size(); ++i)
      expectReduced(result.gradients[i], "ref.grad." + names[i], kFloor);
    const double norm = globalNorm(result.gradients);
    EXPECT_LE(std::fabs(result.sums.loss() / losses[step].item<double>() - 1), kFloor) << step;
    EXPECT_LE(std::fabs(result.sums.accuracy() - accuracies[step].item<double>()), kFloor) << step;
    EXPECT_LE(std::fabs(norm / norms[step].item<double>() - 1), kFloor) << step;
    clipByGlobalNorm(result.gradients, norm, 1.0);
    optimizer.step(result.gradients, 1e-3);
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    expectReduced(model.parameters()[i], "ref.param_after." + names[i], kParameterFloor);
}

}  // namespace
}  // namespace redraft::model
