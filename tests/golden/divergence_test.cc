#include "golden/divergence.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "tests/golden/fake_run.h"
#include "tests/support/temp_folder.h"

namespace redraft::golden {
namespace {

/// An operation of drafter[0] with one input and one output.
OpRecord opOf(std::int64_t index, const std::string& op, const std::string& in, const std::string& out) {
  OpRecord record;
  record.step = 3;
  record.role = "drafter[0]";
  record.phase = "drafter_forward";
  record.lane = "train";
  record.index = index;
  record.op = op;
  record.direction = "forward";
  record.inputs = {{"float32 [2]", in}};
  record.outputs = {{"float32 [2]", out}};
  return record;
}

OpLog logOf(std::vector<OpRecord> ops) {
  OpLog log;
  log.header.first = log.header.last = 3;
  log.ops = std::move(ops);
  return log;
}

const OpLog kRight = logOf({opOf(0, "mul", "1", "2"), opOf(1, "add", "2", "3"), opOf(2, "exp", "3", "4"),
                            opOf(3, "sum", "4", "5"), opOf(4, "neg", "5", "6")});

TEST(DivergedOpTest, TwoEqualLogsHaveNone) {
  const OpDivergence found = divergedOp(kRight, kRight);
  EXPECT_EQ(found.verdict, OpVerdict::kEqual);
  EXPECT_EQ(found.compared, 5);
  EXPECT_EQ(found.differing, 0);
}

TEST(DivergedOpTest, NamesTheOperationWithEqualInputsAndAnotherResult) {
  OpLog wrong = kRight;
  wrong.ops[1].outputs[0].digest = "x";
  for (std::size_t i = 2; i < 5; ++i) wrong.ops[i].inputs[0].digest = wrong.ops[i].outputs[0].digest = "y";
  const OpDivergence found = divergedOp(kRight, wrong);
  EXPECT_EQ(found.verdict, OpVerdict::kOperation);
  ASSERT_TRUE(found.a);
  EXPECT_EQ(found.a->op, "add");
  EXPECT_EQ(found.outputs, std::vector<std::size_t>{0});
  EXPECT_TRUE(found.inputs.empty());
  EXPECT_EQ(found.differing, 4);
  EXPECT_TRUE(found.others.empty());
}

TEST(DivergedOpTest, AnInputThatNobodyMadeDifferentIsUpstream) {
  OpLog wrong = kRight;
  for (OpRecord& op : wrong.ops) op.inputs[0].digest = op.outputs[0].digest = "y";
  const OpDivergence found = divergedOp(kRight, wrong);
  EXPECT_EQ(found.verdict, OpVerdict::kInputs);
  EXPECT_EQ(found.a->op, "mul");
  EXPECT_EQ(found.inputs, std::vector<std::size_t>{0});
}

TEST(DivergedOpTest, AParameterThatDiffersWhenTheStepBeginsComesBeforeAllOperations) {
  OpRecord state = opOf(0, kStateOp, "", "7");
  state.lane = state.phase = "state";
  state.inputs.clear();
  OpLog right = kRight, wrong = kRight;
  right.ops.insert(right.ops.begin(), state);
  state.outputs[0].digest = "8";
  wrong.ops.insert(wrong.ops.begin(), state);
  wrong.ops[1].outputs[0].digest = "x";
  const OpDivergence found = divergedOp(right, wrong);
  EXPECT_EQ(found.verdict, OpVerdict::kInputs);
  EXPECT_EQ(found.a->op, kStateOp);
}

TEST(DivergedOpTest, AnotherNumberAmongTheArgumentsIsTheCallers) {
  OpLog wrong = kRight;
  wrong.ops[2].scalars = "0.5";
  wrong.ops[2].outputs[0].digest = "x";
  EXPECT_EQ(divergedOp(kRight, wrong).verdict, OpVerdict::kScalars);
}

TEST(DivergedOpTest, WhatWasNotTakenDoesNotDiffer) {
  OpLog less = kRight;
  for (OpRecord& op : less.ops) op.inputs[0].digest = "";
  EXPECT_EQ(divergedOp(kRight, less).verdict, OpVerdict::kEqual);
  less.ops[1].outputs[0].digest = "x";
  EXPECT_EQ(divergedOp(kRight, less).a->op, "add");
}

TEST(DivergedOpTest, AnOperationThatOneSideHasAloneIsNamedWhereWhatFollowsDiffers) {
  const OpLog more = logOf({opOf(0, "mul", "1", "2"), opOf(1, "clamp", "2", "9"), opOf(2, "add", "9", "10"),
                            opOf(3, "exp", "10", "11"), opOf(4, "sum", "11", "12"), opOf(5, "neg", "12", "13")});
  const OpDivergence found = divergedOp(kRight, more);
  EXPECT_EQ(found.verdict, OpVerdict::kOtherOperations);
  EXPECT_FALSE(found.a);
  ASSERT_TRUE(found.b);
  EXPECT_EQ(found.b->op, "clamp");
  EXPECT_EQ(found.unmatched, 1);
}

TEST(DivergedOpTest, TargetsComeBeforeDraftersAndTheExchangeBehindBackward) {
  OpLog right = kRight;
  OpRecord target = opOf(9, "cat", "1", "2"), exchange = opOf(0, "add_exact", "1", "2");
  target.role = "target[1]";
  exchange.lane = exchange.phase = "all_reduce";
  right.ops.push_back(target);
  right.ops.push_back(exchange);
  OpLog wrong = right;
  wrong.ops[5].outputs[0].digest = wrong.ops[6].outputs[0].digest = wrong.ops[1].outputs[0].digest = "x";
  const OpDivergence found = divergedOp(right, wrong);
  EXPECT_EQ(found.a->op, "cat");
  ASSERT_EQ(found.others.size(), 2u);
  EXPECT_EQ(found.others[0].op, "add");
  EXPECT_EQ(found.others[1].op, "add_exact");
}

TEST(DivergedStepTest, SaysTheStepWhatDiffersFirstAndUpToWhereParametersWereEqual) {
  const Record right = exampleRecord();
  EXPECT_FALSE(divergedStep(right, right).step);

  Record loss = right;
  loss.steps[1].values["loss"] += 1;
  EXPECT_EQ(divergedStep(right, loss).step, right.steps[1].step);
  EXPECT_EQ(divergedStep(right, loss).stage, "forward");
  EXPECT_EQ(divergedStep(right, loss).lastEqual, right.steps[0].step);

  Record gradient = right;
  gradient.gradients[2][1].hash[0] = gradient.gradients[2][1].hash[0] == '0' ? '1' : '0';
  EXPECT_EQ(divergedStep(right, gradient).step, right.steps[2].step);
  EXPECT_EQ(divergedStep(right, gradient).stage, "backward");

  Record update = right;
  update.steps[0].parametersHash = "another";
  EXPECT_EQ(divergedStep(right, update).stage, "update");
  EXPECT_EQ(divergedStep(right, update).lastEqual, -1);

  Record unknown = loss;
  for (StepMetrics& step : unknown.steps) step.parametersHash.clear();
  EXPECT_EQ(divergedStep(unknown, unknown).lastEqual, -1);
}

TEST(DivergedStepTest, ARunThatWasCutShortIsComparedAsFarAsItGoes) {
  const Record right = exampleRecord();
  Record cut = right;
  cut.steps.resize(2);
  cut.steps[0].parametersHash.clear();
  EXPECT_FALSE(firstUnlike(right, cut, right.steps[1].step));
  EXPECT_EQ(firstUnlike(right, cut, right.steps[2].step), right.steps[2].step);
  cut.steps[1].values["grad_norm"] += 1;
  EXPECT_EQ(firstUnlike(right, cut, right.steps[1].step), right.steps[1].step);
}

TEST(OpLogTest, IsReadAsItWasWritten) {
  const testing_support::TempFolder folder;
  OpLog log = kRight;
  log.ops[0].module = "layers.0.mlp";
  log.ops[0].of = "redraft::linear";
  log.ops[0].scalars = "1, 2";
  log.header.missing = 3;
  writeOpLog(folder.path(), log);
  ASSERT_TRUE(hasOpLog(folder.path()));
  const OpLog read = loadOpLog(folder.path(), 1);
  ASSERT_EQ(read.ops.size(), log.ops.size());
  EXPECT_EQ(read.header.missing, 3);
  for (std::size_t i = 0; i < log.ops.size(); ++i)
    EXPECT_EQ(oneLine(recordToJson(read.ops[i])), oneLine(recordToJson(log.ops[i])));
}

TEST(OpLogTest, AnotherSchemaIsRefusedWithFileAndLine) {
  const testing_support::TempFolder folder;
  writeFileAtomically(folder.file(kOpLogFile), "{\"schema\": \"redraft.op-digests/2\"}\n");
  try {
    loadOpLog(folder.path(), 1);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("op-digests.jsonl:1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace redraft::golden
