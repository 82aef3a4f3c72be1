// Views, in-place, out= and resize on sim tensors; what may mix with them, and what the refusals say.
#include <ATen/ATen.h>
#include <ATen/TensorIndexing.h>
#include <c10/core/DeviceGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/role.h"
#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

using ::testing::HasSubstr;

TEST(SimRegistrationTest, IsIdempotentForTheSameDriverAndRefusesAnother) {
  registerSim(simDriver());
  const auto other = devices::makeSimDriver({});
  EXPECT_THROW(registerSim(*other), Error);
  EXPECT_EQ(at::empty({1}, simOptions(7)).device().str(), "sim:7");
}

TEST(SimViewTest, SharesMemoryWithItsBase) {
  const at::Tensor host = at::arange(12, at::kFloat).view({3, 4});
  const at::Tensor base = on(6, host);
  for (const at::Tensor& view :
       {base.view({4, 3}), base.t(), base.slice(1, 1, 3), base.select(0, 2), base.expand({2, 3, 4}), base.detach(),
        base.unfold(1, 2, 1), base.as_strided({2}, {5}, 1), base.diagonal(), base.unsqueeze(0), base.alias()}) {
    EXPECT_EQ(view.device(), simDevice(6));
    EXPECT_TRUE(view.storage().is_alias_of(base.storage()));
  }
  base.t().slice(0, 1, 3).add_(100);
  EXPECT_TRUE(at::equal(base.cpu().sum(), host.sum() + 600));
}

TEST(SimViewTest, ResultOfACpuKernelThatReturnsAViewSharesMemory) {
  const at::Tensor complex = at::complex(at::ones({3}), at::zeros({3})).to(simDevice(2));
  const at::Tensor parts = at::view_as_real(complex);
  EXPECT_TRUE(parts.storage().is_alias_of(complex.storage()));
  parts.select(1, 1).fill_(5);
  EXPECT_EQ(at::imag(complex).sum().item<float>(), 15);
}

TEST(SimInPlaceTest, ReturnsTheSameTensorAndCountsAVersion) {
  at::Tensor tensor = at::ones({4}, simOptions(1));
  const auto version = tensor._version();
  const at::Tensor result = tensor.mul_(3);
  EXPECT_TRUE(result.is_same(tensor));
  EXPECT_EQ(tensor._version(), version + 1);
  EXPECT_EQ(tensor.sum().item<float>(), 12);
}

TEST(SimInPlaceTest, TheSameTensorMayBeReadAndWritten) {
  at::Tensor tensor = at::full({4}, 3, simOptions(1));
  tensor.mul_(tensor);
  at::add_out(tensor, tensor, tensor);
  EXPECT_EQ(tensor.sum().item<float>(), 72);
}

TEST(SimInPlaceTest, OverlappingViewsAreRefusedAsOnCpu) {
  const at::Tensor tensor = at::ones({6}, simOptions(1));
  EXPECT_THAT(messageOf([&] { tensor.slice(0, 1).add_(tensor.slice(0, 0, 5)); }), HasSubstr("memory location"));
}

TEST(SimOutTest, GrowsAnEmptyTensorAndKeepsItsIdentity) {
  const at::Tensor a = at::ones({4, 5}, simOptions(6)), b = at::ones({5, 3}, simOptions(6));
  at::Tensor out = at::empty({0}, simOptions(6));
  const at::Tensor& result = at::mm_out(out, a, b);
  EXPECT_TRUE(result.is_same(out));
  EXPECT_EQ(out.sizes(), at::IntArrayRef({4, 3}));
  EXPECT_EQ(out.storage().nbytes(), 48u);
  EXPECT_EQ(out.sum().item<float>(), 60);
}

TEST(SimOutTest, AViewOfTheGrownStorageSeesTheNewBytes) {
  at::Tensor out = at::empty({0}, simOptions(6));
  at::Tensor second = at::empty({0}, simOptions(6));
  second.set_(out.storage(), 0, {0}, {1});
  at::add_out(out, at::ones({4}, simOptions(6)), 1);
  EXPECT_EQ(second.set_(out.storage(), 0, {4}, {1}).sum().item<float>(), 8);
}

TEST(SimOutTest, AKernelThatFailsAfterTheResizeLeavesAUsableTensor) {
  at::Tensor out = at::empty({0}, simOptions(6));
  const at::Tensor singular = at::zeros({2, 2}, simOptions(6));
  EXPECT_ANY_THROW(at::linalg_inv_out(out, singular));
  EXPECT_EQ(out.fill_(2).sum().item<float>(), 2.0f * static_cast<float>(out.numel()));
}

TEST(SimResizeTest, KeepsTheBytesThatFit) {
  at::Tensor tensor = on(3, at::arange(6, at::kFloat));
  tensor.resize_({2, 6});
  EXPECT_TRUE(at::equal(tensor.select(0, 0).cpu(), at::arange(6, at::kFloat)));
  tensor.resize_({3});
  EXPECT_TRUE(at::equal(tensor.cpu(), at::arange(3, at::kFloat)));
  EXPECT_EQ(tensor.resize_({0}).numel(), 0);
}

TEST(SimSetTest, TakesStorageOfTheSameBackendOnly) {
  const at::Tensor source = on(3, at::arange(6, at::kFloat));
  at::Tensor tensor = at::empty({0}, simOptions(3));
  tensor.set_(source);
  EXPECT_TRUE(tensor.storage().is_alias_of(source.storage()));
  EXPECT_EQ(tensor.set_().numel(), 0);
  EXPECT_THAT(messageOf([&] { tensor.set_(at::ones({3}).storage()); }), HasSubstr("sim:3 (self) and cpu (source)"));
}

TEST(SimEmptyTest, EmptyTensorsGoThroughEveryPath) {
  const at::Tensor none = at::empty({0, 4}, simOptions(5));
  EXPECT_EQ(none.add(1).numel(), 0);
  EXPECT_EQ(at::cat({none, at::ones({2, 4}, simOptions(5))}).size(0), 2);
  EXPECT_EQ(none.sum().item<float>(), 0);
  EXPECT_EQ(none.cpu().to(simDevice(6)).numel(), 0);
  EXPECT_EQ(none.mm(at::ones({4, 3}, simOptions(5))).sizes(), at::IntArrayRef({0, 3}));
  EXPECT_EQ(none.clone().contiguous().numel(), 0);
}

TEST(SimMixTest, TwoDevicesInOneOpAreRefusedByName) {
  const RoleScope role("drafter[0]");
  const StepScope step(3);
  const PhaseScope phase(devices::Phase::kBackward);
  const at::Tensor a = at::ones({2, 2}, simOptions(6)), b = at::ones({2, 2}, simOptions(7));
  const std::string message = messageOf([&] { a.mm(b); });
  EXPECT_THAT(message, HasSubstr("aten::mm: tensors on sim:6 (self) and sim:7 (mat2)"));
  EXPECT_THAT(message, HasSubstr("Expected all tensors to be on the same device"));
  EXPECT_THAT(message, HasSubstr("role drafter[0], step 3, phase " +
                                 std::string(devices::phaseName(devices::Phase::kBackward))));
  EXPECT_THAT(message, HasSubstr("remedy: move mat2 to sim:6"));
}

TEST(SimMixTest, ListsNameTheElement) {
  const at::Tensor a = at::ones({2}, simOptions(6)), b = at::ones({2}, simOptions(7));
  EXPECT_THAT(messageOf([&] { at::cat({a, a, b}); }), HasSubstr("sim:6 (tensors[0]) and sim:7 (tensors[2])"));
  EXPECT_THAT(messageOf([&] { a.index({b.to(at::kLong)}); }), HasSubstr("sim:6 (self) and sim:7 (indices[0])"));
  at::Tensor out = at::empty({0}, simOptions(7));
  EXPECT_THAT(messageOf([&] { at::add_out(out, a, a); }), HasSubstr("sim:6 (self) and sim:7 (out)"));
}

TEST(SimMixTest, CpuScalarsMixWithElementWiseOpsAsOnCuda) {
  const at::Tensor sim = at::ones({2, 2}, simOptions(6)), scalar = at::scalar_tensor(3);
  EXPECT_EQ(sim.add(scalar).sum().item<float>(), 16);
  EXPECT_EQ(scalar.sub(sim).device(), simDevice(6));
  EXPECT_EQ(at::where(sim > 0, sim, scalar).sum().item<float>(), 4);
  EXPECT_EQ(sim.clone().masked_fill_(sim > 0, scalar).sum().item<float>(), 12);
  EXPECT_EQ(sim.clone().eq_(scalar).sum().item<float>(), 0);  // its schema has no tag
  EXPECT_EQ(sim.mul(2.5).scalar_type(), at::kFloat);          // wrapped numbers do not promote
  EXPECT_EQ(at::ones({2}, simOptions(6, at::kInt)).mul(2.5).scalar_type(), at::kFloat);
}

TEST(SimMixTest, OtherCpuTensorsAreRefused) {
  const at::Tensor sim = at::ones({2, 2}, simOptions(6));
  EXPECT_THAT(messageOf([&] { sim.add(at::ones({2})); }), HasSubstr("sim:6 (self) and cpu (other)"));
  EXPECT_THAT(messageOf([&] { at::ones({2, 2}).mm(sim); }), HasSubstr("sim:6 (mat2) and cpu (self)"));
  EXPECT_THAT(messageOf([&] { at::scalar_tensor(1).add_(sim.sum()); }), HasSubstr("cpu (self)"));
  EXPECT_THAT(messageOf([&] { sim.index_select(0, at::scalar_tensor(1, at::kLong)); }), HasSubstr("cpu (index)"));
}

TEST(SimMixTest, CpuIndicesMixAsOnCuda) {
  at::Tensor sim = on(6, at::arange(4, at::kFloat));
  const at::Tensor indices = at::tensor({3, 1}, at::kLong);
  EXPECT_TRUE(at::equal(sim.index({indices}).cpu(), at::tensor({3.0f, 1.0f})));
  sim.index_put_({indices}, at::zeros({2}, simOptions(6)));
  EXPECT_EQ(sim.sum().item<float>(), 2);
}

TEST(SimDtypeTest, KeepsBitsOfEveryWidth) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                           at::kByte, at::kBool, at::kComplexFloat}) {
    const at::Tensor host = at::arange(-3, 5).to(dtype);
    EXPECT_TRUE(sameBits(on(4, host), host)) << dtype;
    EXPECT_TRUE(sameBits(on(4, host).flip(0), host.flip(0))) << dtype;
  }
}

TEST(SimComplexTest, ConjugateViewsAreResolved) {
  const at::Tensor host = at::complex(at::ones({3}), at::arange(3, at::kFloat));
  const at::Tensor conjugate = host.to(simDevice(6)).conj();
  EXPECT_TRUE(conjugate.is_conj());
  EXPECT_TRUE(at::equal(conjugate.cpu(), host.conj().resolve_conj()));
  EXPECT_TRUE(at::equal(conjugate.mul(2).cpu(), host.conj().mul(2)));
  EXPECT_TRUE(at::equal(at::imag(conjugate).cpu(), -at::imag(host)));
}

TEST(SimFactoryTest, UsesTheCurrentDeviceWhereNoneIsNamed) {
  const c10::DeviceGuard guard(simDevice(4));
  const at::TensorOptions anySim = at::TensorOptions().device(c10::DeviceType::PrivateUse1);
  EXPECT_EQ(at::empty({2}, anySim).device(), simDevice(4));
  EXPECT_EQ(at::tril_indices(3, 3, 0, anySim.dtype(at::kLong)).device(), simDevice(4));
  EXPECT_EQ(at::ones({2}, simOptions(2)).device(), simDevice(2));
}

TEST(SimUnsupportedTest, SaysWhatIsNotThere) {
  EXPECT_THAT(messageOf([] { at::ones({2}, simOptions(1)).to_sparse(); }), HasSubstr("remedy"));
  EXPECT_THAT(messageOf([] { at::empty({2}, simOptions(1).pinned_memory(true)); }), HasSubstr("pin"));
}

class AllOpsStrictness : public ::testing::Test {
 protected:
  const at::Tensor tensor_ = at::ones({2, 2}, simOptions(6));  // before: a factory fills its tensor

  AllOpsStrictness() { registerSim(simDriver(), {Strictness::kAllOps}); }
  ~AllOpsStrictness() override { registerSim(simDriver(), {Strictness::kRawLaunch}); }
};

TEST_F(AllOpsStrictness, RefusesOpsAwayFromTheCurrentDevice) {
  EXPECT_THAT(messageOf([&] { tensor_.add(1); }),
              HasSubstr("aten::add: a tensor is on sim:6 (self), but this thread's current device is sim:0"));
  const c10::DeviceGuard guard(simDevice(6));
  EXPECT_EQ(tensor_.add(1).cpu().sum().item<float>(), 8);
}

TEST_F(AllOpsStrictness, BackwardRunsOnTheDeviceOfItsTensors) {
  const at::Tensor weight = tensor_.detach().requires_grad_();
  at::Tensor loss;
  {
    const c10::DeviceGuard guard(simDevice(6));
    loss = weight.mm(weight).sum();
  }
  loss.backward(at::ones_like(loss.cpu()).to(simDevice(6)));  // called from device 0
  EXPECT_EQ(weight.grad().device(), simDevice(6));
}

TEST(RawLaunchStrictness, OpsBringTheirOwnDeviceGuard) {
  const c10::DeviceGuard guard(simDevice(2));
  const at::Tensor sum = at::ones({2}, simOptions(6)).add(1);
  EXPECT_EQ(sum.device(), simDevice(6));
  EXPECT_EQ(at::empty({1}, at::TensorOptions().device(c10::DeviceType::PrivateUse1)).device(), simDevice(2));
}

}  // namespace
}  // namespace redraft::model::simtest
