// Devices, streams and events through c10, with the driver's rules.
#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

constexpr auto kSimType = c10::DeviceType::PrivateUse1;

const c10::impl::DeviceGuardImplInterface& guard() { return *c10::impl::getDeviceGuardImpl(kSimType); }

TEST(SimGuardTest, IsTheAcceleratorWithEightDevices) {
  EXPECT_EQ(at::getAccelerator(), kSimType);
  EXPECT_EQ(at::accelerator::deviceCount(), 8);
}

TEST(SimGuardTest, NestsAndRestores) {
  EXPECT_EQ(guard().getDevice(), simDevice(0));
  {
    const c10::DeviceGuard outer(simDevice(3));
    const c10::DeviceGuard inner(simDevice(5));
    EXPECT_EQ(guard().getDevice(), simDevice(5));
  }
  EXPECT_EQ(guard().getDevice(), simDevice(0));
}

/// Contexts that were made on a device so far.
int contextsOn(int device) {
  int contexts = 0;
  for (const devices::LogRecord& record : simDriver().log().records())
    if (record.kind == devices::CallKind::kContext && record.objectDevice == device) ++contexts;
  return contexts;
}

TEST(SimGuardTest, GoingBackToADeviceThatHasNoContextMakesNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, where device 0 has none yet
  const auto workOnThree = [] {
    std::thread([] {
      const c10::DeviceGuard three(simDevice(3));
      at::ones({1}, at::TensorOptions().device(simDevice(3)));
    }).join();
    std::exit(contextsOn(3) == 1 && contextsOn(0) == 0 ? 0 : 1);
  };
  EXPECT_EXIT(workOnThree(), ::testing::ExitedWithCode(0), "");
}

TEST(SimGuardTest, ANewThreadStartsAtDeviceZeroOnDefaultStreams) {
  const c10::DeviceGuard here(simDevice(6));
  const c10::StreamGuard stream(guard().getNewStream(simDevice(6), 0));
  std::thread([] {
    EXPECT_EQ(guard().getDevice(), simDevice(0));
    EXPECT_EQ(guard().getStream(simDevice(6)), guard().getDefaultStream(simDevice(6)));
    EXPECT_EQ(at::ones({1}, at::TensorOptions().device(kSimType)).device(), simDevice(0));
  }).join();
  EXPECT_EQ(guard().getDevice(), simDevice(6));
}

TEST(SimGuardTest, ADeviceThatDoesNotExistIsRefused) {
  EXPECT_ANY_THROW(guard().setDevice(c10::Device(kSimType, 8)));
  EXPECT_ANY_THROW(at::empty({1}, at::TensorOptions().device(c10::Device(kSimType, 8))));
  EXPECT_EQ(guard().getDevice(), simDevice(0));
}

TEST(SimGuardTest, SeesTheContextThatOtherCodeBound) {
  devices::Context context;
  devices::check(simDriver().primaryContext(4, &context), "primaryContext", 4);
  std::thread([&] {
    devices::check(simDriver().setCurrent(context), "setCurrent", 4);  // as a lazy kernel load does
    EXPECT_EQ(guard().getDevice(), simDevice(4));
  }).join();
}

TEST(SimStreamTest, CurrentStreamIsPerThreadAndDevice) {
  const c10::Stream made = guard().getNewStream(simDevice(6), 0);
  EXPECT_EQ(made.device(), simDevice(6));
  EXPECT_NE(made, guard().getDefaultStream(simDevice(6)));
  {
    const c10::StreamGuard scope(made);
    EXPECT_EQ(guard().getStream(simDevice(6)), made);
    EXPECT_EQ(guard().getDevice(), simDevice(6));
    EXPECT_EQ(guard().getStream(simDevice(5)), guard().getDefaultStream(simDevice(5)));
  }
  EXPECT_EQ(guard().getStream(simDevice(6)), guard().getDefaultStream(simDevice(6)));
  EXPECT_TRUE(made.query());
  made.synchronize();
  guard().synchronizeDevice(6);
}

TEST(SimStreamTest, PoolHandsOutStreamsOfTheDeviceInTurn) {
  const c10::Stream first = guard().getStreamFromGlobalPool(simDevice(2), false);
  const c10::Stream second = guard().getStreamFromGlobalPool(simDevice(2), false);
  EXPECT_EQ(first.device(), simDevice(2));
  EXPECT_NE(first, second);
}

TEST(SimStreamTest, AStreamThatDoesNotExistIsRefused) {
  const c10::Stream bogus(c10::Stream::UNSAFE, simDevice(2), 999999);
  EXPECT_EQ(statusOf([&] { bogus.synchronize(); }), devices::Status::kInvalidHandle);
}

TEST(SimEventTest, RecordsAndOrdersStreamsOfTwoDevices) {
  const c10::Stream six = guard().getDefaultStream(simDevice(6)), seven = guard().getDefaultStream(simDevice(7));
  c10::Event event(kSimType);
  EXPECT_TRUE(event.query());
  event.record(six);
  event.block(seven);  // waiting on another device is allowed
  event.synchronize();
  EXPECT_TRUE(event.query());
}

TEST(SimEventTest, RecordingOnAnotherDeviceIsAnInvalidHandle) {
  void* event = nullptr;
  guard().record(&event, guard().getDefaultStream(simDevice(6)), 6, c10::EventFlag::PYTORCH_DEFAULT);
  EXPECT_EQ(statusOf([&] {
              guard().record(&event, guard().getDefaultStream(simDevice(7)), 6, c10::EventFlag::PYTORCH_DEFAULT);
            }),
            devices::Status::kInvalidHandle);
  guard().destroyEvent(event, 6);
}

TEST(SimEventTest, ElapsedTimeNeedsTwoRecordedEventsOfOneDevice) {
  const c10::Stream six = guard().getDefaultStream(simDevice(6)), seven = guard().getDefaultStream(simDevice(7));
  void *first = nullptr, *second = nullptr, *other = nullptr;
  guard().record(&first, six, 6, c10::EventFlag::BACKEND_DEFAULT);
  guard().record(&second, six, 6, c10::EventFlag::BACKEND_DEFAULT);
  guard().record(&other, seven, 7, c10::EventFlag::BACKEND_DEFAULT);
  EXPECT_GE(guard().elapsedTime(first, second, 6), 0);
  EXPECT_EQ(statusOf([&] { guard().elapsedTime(first, other, 6); }), devices::Status::kInvalidHandle);
  EXPECT_ANY_THROW(guard().elapsedTime(nullptr, second, 6));
  for (void* event : {first, second, other}) guard().destroyEvent(event, 6);
}

TEST(SimStreamTest, RecordStreamTakesSimMemoryOnly) {
  at::Tensor tensor = at::ones({4}, simOptions(6));
  tensor.record_stream(guard().getDefaultStream(simDevice(7)));
  EXPECT_ANY_THROW(guard().recordDataPtrOnStream(at::ones({4}).storage().data_ptr(), guard().getStream(simDevice(6))));
}

}  // namespace
}  // namespace redraft::model::simtest
