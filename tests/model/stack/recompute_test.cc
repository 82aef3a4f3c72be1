#include "model/recompute.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <stdexcept>
#include <vector>

#include "model/instrument.h"
#include "model/role.h"

namespace redraft::model {
namespace {

struct Recorder : Instrument {
  std::vector<std::pair<SyncPoint, std::int64_t>> points;
  std::vector<devices::Origin> origins;

  void syncPoint(SyncPoint point, std::int64_t object) override {
    points.emplace_back(point, object);
    origins.push_back(devices::currentOrigin());
  }
};

class RecomputeTest : public ::testing::Test {
 protected:
  void SetUp() override { setInstrument(&recorder_); }
  void TearDown() override { setInstrument(nullptr); }

  static at::Tensor gradientOf(const at::Tensor& output, const at::Tensor& input) {
    return torch::autograd::grad({output.sum()}, {input}).front();
  }

  Recorder recorder_;
};

at::Tensor leaf() { return at::arange(1, 7, at::kFloat).requires_grad_(true); }

TEST_F(RecomputeTest, GivesTheValuesAndGradientOfThePlainCall) {
  const auto cube = [](const at::Tensor& x) -> std::vector<at::Tensor> { return {x * x * x, x.argmax(), x + 1}; };
  const at::Tensor x = leaf(), y = leaf();
  const std::vector<at::Tensor> again = recomputeInBackward(cube, x, 0);
  const std::vector<at::Tensor> plain = cube(y);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(again[i], plain[i]));
  EXPECT_TRUE(again[0].requires_grad());
  EXPECT_FALSE(again[2].requires_grad());
  EXPECT_TRUE(at::equal(gradientOf(again[0], x), gradientOf(plain[0], y)));
}

TEST_F(RecomputeTest, KeepsNothingButItsInput) {
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> made;
  const at::Tensor x = leaf();
  const auto square = [&made](const at::Tensor& input) -> std::vector<at::Tensor> {
    const at::Tensor middle = input * 2;
    made.emplace_back(middle.getIntrusivePtr());
    return {middle * middle};
  };
  const at::Tensor output = recomputeInBackward(square, x, 0).front();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(made.front().expired());
  EXPECT_TRUE(at::equal(gradientOf(output, x), 8 * x));
  EXPECT_EQ(made.size(), 2u);
}

TEST_F(RecomputeTest, SecondRunDrawsTheFirstOnesNumbers) {
  at::manual_seed(5);
  const at::Tensor x = leaf();
  const auto noisy = [](const at::Tensor& input) -> std::vector<at::Tensor> {
    return {input * at::rand(input.sizes())};
  };
  const at::Tensor output = recomputeInBackward(noisy, x, 0).front();
  const at::Tensor factor = (output / x).detach();
  at::rand({100});  // whatever happens in between
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  EXPECT_TRUE(at::allclose(gradientOf(output, x), factor, 4e-7, 0))
      << "output / x and the factor differ by two roundings";
  EXPECT_TRUE(at::equal(at::detail::getDefaultCPUGenerator().get_state(), before)) << "backward moved the generator";
}

TEST_F(RecomputeTest, LeavesTheGeneratorAloneWhenNothingIsDrawn) {
  at::manual_seed(5);
  const at::Tensor x = leaf();
  const at::Tensor output =
      recomputeInBackward([](const at::Tensor& input) -> std::vector<at::Tensor> { return {input * 2}; }, x, 0).front();
  const at::Tensor drawn = at::rand({3});
  gradientOf(output, x);
  const at::Tensor next = at::rand({3});
  at::manual_seed(5);
  EXPECT_TRUE(at::equal(drawn, at::rand({3})));
  EXPECT_TRUE(at::equal(next, at::rand({3})));
}

TEST_F(RecomputeTest, MarksTheRecomputationInItsPhaseAndRole) {
  const RoleScope role("drafter[1]");
  const at::Tensor x = leaf();
  const at::Tensor output =
      recomputeInBackward([](const at::Tensor& input) -> std::vector<at::Tensor> { return {input * 2}; }, x, 17)
          .front();
  EXPECT_TRUE(recorder_.points.empty());
  gradientOf(output, x);
  using Point = std::pair<SyncPoint, std::int64_t>;
  EXPECT_EQ(recorder_.points, (std::vector<Point>{{SyncPoint::kRecomputeBegin, 17}, {SyncPoint::kRecomputeEnd, 17}}));
  EXPECT_EQ(recorder_.origins.front().phase, devices::Phase::kRecompute);
  EXPECT_EQ(devices::roleName(recorder_.origins.front().role), "drafter[1]");
}

TEST_F(RecomputeTest, ErrorOfTheSecondRunReachesTheCaller) {
  int runs = 0;
  const at::Tensor x = leaf();
  const at::Tensor output = recomputeInBackward(
                                [&runs](const at::Tensor& input) -> std::vector<at::Tensor> {
                                  if (++runs == 2) throw std::runtime_error("no memory for the second time");
                                  return {input * 2};
                                },
                                x, 0)
                                .front();
  EXPECT_THROW(gradientOf(output, x), std::runtime_error);
}

}  // namespace
}  // namespace redraft::model
