#include "scenarios/ops/op_recorder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "model/kernels/ops.h"
#include "model/module_scope.h"
#include "model/role.h"

namespace redraft::scenarios {
namespace {

using devices::Phase;
using golden::OpRecord;

struct Weights {
  at::Tensor norm = at::rand({8}).requires_grad_(true), linear = at::rand({8, 8}).requires_grad_(true);
};

/// A step of a drafter as small as can be: two operations of ours, one of ATen's, and their gradients.
void trainStep(const Weights& weights, const at::Tensor& x) {
  const model::RoleScope role("drafter[0]");
  const model::StepScope step(5);
  at::Tensor loss;
  {
    const model::PhaseScope phase(Phase::kDrafterForward);
    const model::ModuleScope layer("layers", 1);
    const at::Tensor scratch = at::empty({4});
    const at::Tensor normed = model::rmsNorm(x, weights.norm, 1e-6);
    loss = model::linear(normed, weights.linear).transpose(0, 1).exp().sum();
  }
  const model::PhaseScope phase(Phase::kBackward);
  torch::autograd::grad({loss}, {weights.norm, weights.linear});
}

golden::OpLog record(const Weights& weights, const std::function<void()>& work) {
  TensorDigests digests(nullptr);
  OpRecorder recorder({5, 5, true}, digests);
  {
    const model::RoleScope role("drafter[0]");
    recorder.replicaReady({weights.norm, weights.linear}, {"norm.weight", "layers.1.fc.weight"});
    const model::StepScope step(5);
    recorder.stepBegan();
  }
  work();
  return recorder.take();
}

const OpRecord& find(const golden::OpLog& log, const std::string& op, const std::string& direction) {
  for (const OpRecord& each : log.ops)
    if (each.op == op && each.direction == direction) return each;
  ADD_FAILURE() << "no " << op << ", " << direction;
  static const OpRecord none;
  return none;
}

class OpRecorderTest : public ::testing::Test {
 protected:
  Weights weights_;
  const at::Tensor x_ = at::rand({3, 8});
};

TEST_F(OpRecorderTest, JoinsABackwardOperationToItsForward) {
  const golden::OpLog log = record(weights_, [&] { trainStep(weights_, x_); });
  EXPECT_EQ(find(log, "redraft::rms_norm", "forward").module, "norm");
  EXPECT_EQ(find(log, "redraft::linear", "forward").module, "layers.1.fc");
  EXPECT_EQ(find(log, "aten::exp", "forward").module, "layers.1");
  const OpRecord& norm = find(log, "redraft::rms_norm_backward", "backward");
  EXPECT_EQ(norm.of, "redraft::rms_norm");
  EXPECT_EQ(norm.module, "norm");
  const OpRecord& exp = find(log, "aten::mul.Tensor", "backward");
  EXPECT_EQ(exp.of, "aten::exp");
  EXPECT_EQ(exp.module, "layers.1");
  EXPECT_EQ(find(log, golden::kStateOp, "").module, "norm.weight");
}

TEST_F(OpRecorderTest, LeavesOutViewsAndWhatHoldsNoValueYet) {
  const golden::OpLog log = record(weights_, [&] { trainStep(weights_, x_); });
  for (const OpRecord& op : log.ops) {
    EXPECT_EQ(op.op.find("aten::empty"), std::string::npos);
    EXPECT_EQ(op.op.find("transpose"), std::string::npos);
    EXPECT_FALSE(op.outputs.empty()) << op.op;
  }
}

TEST_F(OpRecorderTest, TheSameWorkGivesTheSameLog) {
  const auto text = [&] {
    std::string all;
    for (const OpRecord& op : record(weights_, [&] { trainStep(weights_, x_); }).ops) all += oneLine(recordToJson(op));
    return all;
  };
  const std::string first = text();
  EXPECT_EQ(text(), first);
}

TEST_F(OpRecorderTest, WhatIsWrittenInPlaceIsAResultAndWhatWasThereBeforeIsNoInput) {
  const golden::OpLog log = record(weights_, [&] {
    const model::RoleScope role("drafter[0]");
    const model::StepScope step(5);
    const model::PhaseScope phase(Phase::kOptimizer);
    at::Tensor to = at::zeros({4});
    to.copy_(at::ones({4}));
    to.add_(1);
  });
  const OpRecord &copy = find(log, "aten::copy_", ""), &add = find(log, "aten::add_.Scalar", "");
  ASSERT_EQ(copy.inputs.size(), 1u);
  ASSERT_EQ(copy.outputs.size(), 1u);
  EXPECT_EQ(copy.outputs[0], copy.inputs[0]);
  ASSERT_EQ(add.inputs.size(), 1u);
  EXPECT_EQ(add.inputs[0], copy.outputs[0]);
  EXPECT_EQ(add.scalars, "1, 1");
}

TEST_F(OpRecorderTest, OtherStepsAndWhatNoRoleDoesAreLeftOut) {
  const golden::OpLog log = record(weights_, [&] {
    at::ones({4}).add_(1);
    const model::RoleScope role("drafter[0]");
    const model::StepScope step(6);
    const model::PhaseScope phase(Phase::kDrafterForward);
    at::ones({4}).add_(1);
  });
  EXPECT_EQ(log.ops.size(), 2u);  // the parameters
}

}  // namespace
}  // namespace redraft::scenarios
