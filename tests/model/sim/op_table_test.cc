// Every row of the op table gives the CPU's bits on `sim`, forward and backward.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <set>
#include <string>

#include "tests/model/sim/op_case.h"
#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

constexpr int kDevice = 6;

/// Names of the ops that ran on this thread during the test.
thread_local std::set<std::string>* opsSeen = nullptr;

std::unique_ptr<at::ObserverContext> noteOp(const at::RecordFunction& function) {
  if (opsSeen != nullptr) opsSeen->insert(function.name());
  return nullptr;
}

class OpNames {
 public:
  OpNames()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&noteOp).scopes({at::RecordScope::FUNCTION}))) {
    opsSeen = &names_;
  }
  ~OpNames() {
    opsSeen = nullptr;
    at::removeCallback(handle_);
  }
  bool has(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
  at::CallbackHandle handle_;
};

struct Outcome {
  Tensors outputs;
  Tensors gradients;  // of the leaves; undefined where an output does not depend on one
};

bool isDifferentiable(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

/// Weights that differ from element to element, so that a gradient in the wrong place is seen.
at::Tensor weightsFor(const at::Tensor& output) {
  const at::Tensor counted = at::arange(1, output.numel() + 1, at::kFloat) / 8;
  return counted.view(output.sizes()).to(output.scalar_type()).to(output.device());
}

Outcome runOn(const OpCase& row, at::Device device) {
  at::manual_seed(7);
  Inputs in(device, /*leavesRequireGrad=*/true);
  Outcome outcome;
  outcome.outputs = row.call(in);
  Tensors roots, weights;
  for (const auto& output : outcome.outputs) {
    if (!isDifferentiable(output)) continue;
    roots.push_back(output);
    weights.push_back(weightsFor(output));
  }
  if (!roots.empty())
    outcome.gradients = torch::autograd::grad(roots, in.leaves(), weights, std::nullopt, false, /*allow_unused=*/true);
  return outcome;
}

void expectSame(const Tensors& cpu, const Tensors& sim, const char* what) {
  ASSERT_EQ(cpu.size(), sim.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    ASSERT_EQ(cpu[i].defined(), sim[i].defined()) << what << " " << i;
    if (!cpu[i].defined()) continue;
    EXPECT_TRUE(sim[i].device() == simDevice(kDevice)) << what << " " << i << " is on " << sim[i].device();
    EXPECT_EQ(cpu[i].strides(), sim[i].strides()) << what << " " << i;
    EXPECT_TRUE(sameBits(cpu[i].detach(), sim[i].detach()))
        << what << " " << i << "\ncpu " << cpu[i] << "\nsim " << sim[i].cpu();
  }
}

class OpTable : public ::testing::TestWithParam<OpCase> {};

TEST_P(OpTable, GivesTheBitsOfTheCpu) {
  const OpCase row = GetParam();
  const Outcome cpu = runOn(row, at::kCPU);
  OpNames names;
  const Outcome sim = runOn(row, simDevice(kDevice));
  const std::string name = row.op;
  EXPECT_TRUE(names.has("aten::" + name.substr(0, name.find('.')))) << "the row does not call " << name;
  expectSame(cpu.outputs, sim.outputs, "output");
  expectSame(cpu.gradients, sim.gradients, "gradient");
}

std::string testName(const ::testing::TestParamInfo<OpCase>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.op;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Aten, OpTable, ::testing::ValuesIn(allOpCases()), testName);

TEST(OpTableSize, HoldsTwoHundredDifferentOpsOfTheDispatcher) {
  std::set<std::string> ops;
  for (const auto& row : allOpCases()) {
    std::string name = row.op, overload;
    if (const auto dot = name.find('.'); dot != std::string::npos) {
      overload = name.substr(dot + 1);
      name.resize(dot);
    }
    EXPECT_TRUE(c10::Dispatcher::singleton().findSchema({"aten::" + name, overload})) << row.op;
    ops.insert(row.op);
  }
  EXPECT_GE(ops.size(), 200u);
}

}  // namespace

void PrintTo(const OpCase& row, std::ostream* out) { *out << row.op; }

}  // namespace redraft::model::simtest
