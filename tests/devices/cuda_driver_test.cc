// CudaDriver's bookkeeping of what other users of CUDA in the process make, over a driver that is a fake.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "devices/cuda_loader.h"
#include "tests/devices/fake_cuda/fake_cuda.h"

namespace redraft::devices {
namespace {

/// Opened by its path first: dlopen("libcuda.so.1") then finds the one that bears this name, real driver or not.
const fake::Control& fakeCuda() {
  static const fake::Control* const control = [] {
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_cuda" / "libcuda.so.1";
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<fake::GetControl>(::dlsym(library, "redraftFakeCuda"))();
  }();
  return *control;
}

class CudaDriverTest : public ::testing::Test {
 protected:
  CudaDriverTest() {
    fakeCuda().reset();
    driver_ = loadCudaDriver({});
  }

  Context current() {
    Context context;
    EXPECT_EQ(driver_->current(&context), Status::kSuccess);
    return context;
  }
  Context primary(int device) {
    Context context;
    EXPECT_EQ(driver_->primaryContext(device, &context), Status::kSuccess);
    return context;
  }
  Stream adopt(CUstream native) {
    Stream stream;
    EXPECT_EQ(driver_->adoptStream(native, &stream), Status::kSuccess);
    return stream;
  }
  int deviceOf(Stream stream) {
    int device = -1;
    for (const LogRecord& record : driver_->log().records()) {
      if (record.kind == CallKind::kStreamCreate && record.object == stream.id) device = record.objectDevice;
    }
    return device;
  }

  std::unique_ptr<Driver> driver_;
};

TEST_F(CudaDriverTest, SharesMultiprocessorsOutEvenlyAndSaysWhereThereAreTooFew) {
  std::vector<GreenStream> streams;
  for (const auto& [count, each] : {std::pair{8, 16}, std::pair{3, 40}, std::pair{2, 64}}) {
    ASSERT_EQ(driver_->greenStreams(0, count, &streams), Status::kSuccess);
    ASSERT_EQ(streams.size(), static_cast<std::size_t>(count));
    std::set<void*> different;
    for (const GreenStream& stream : streams) {
      EXPECT_EQ(stream.multiprocessors, each);
      different.insert(stream.native);
    }
    EXPECT_EQ(different.size(), streams.size());
  }
  EXPECT_FALSE(current()) << "a green context is never current";
  EXPECT_EQ(driver_->greenStreams(0, 17, &streams), Status::kInvalidResourceConfiguration);
  EXPECT_TRUE(streams.empty());
  EXPECT_EQ(driver_->greenStreams(0, 0, &streams), Status::kInvalidValue);
  EXPECT_EQ(driver_->greenStreams(2, 2, &streams), Status::kInvalidDevice);
}

TEST_F(CudaDriverTest, APrimaryContextThatSomebodyElseBoundIsTheDevices) {
  EXPECT_FALSE(current());
  fakeCuda().bindPrimary(1);
  const Context found = current();
  EXPECT_TRUE(found);
  EXPECT_EQ(found, primary(1));
  EXPECT_EQ(found, current());
  int device = -1;
  EXPECT_EQ(driver_->contextDevice(found, &device), Status::kSuccess);
  EXPECT_EQ(device, 1);
  std::thread([&] { EXPECT_FALSE(current()); }).join();
}

TEST_F(CudaDriverTest, ToAskWhatIsCurrentMakesNoPrimaryContext) {
  fakeCuda().bindForeign(0);
  EXPECT_FALSE(current());
  EXPECT_EQ(fakeCuda().primaryRetains(0), 0);
}

TEST_F(CudaDriverTest, AContextThatIsNobodysPrimaryIsNotTakenForOne) {
  fakeCuda().bindPrimary(0);
  EXPECT_TRUE(current());
  fakeCuda().bindForeign(0);
  EXPECT_FALSE(current());
}

TEST_F(CudaDriverTest, AStreamOfSomebodyElsesKeepsItsName) {
  fakeCuda().bindPrimary(0);
  const CUstream one = fakeCuda().makeStream(0), two = fakeCuda().makeStream(0);
  EXPECT_FALSE(adopt(nullptr));
  const Stream first = adopt(one);
  EXPECT_TRUE(first);
  EXPECT_EQ(adopt(one), first);
  EXPECT_NE(adopt(two), first);
}

TEST_F(CudaDriverTest, AStreamBelongsToItsOwnContextWhateverIsCurrent) {
  fakeCuda().bindPrimary(1);
  EXPECT_TRUE(current());
  fakeCuda().bindPrimary(0);
  EXPECT_EQ(deviceOf(adopt(fakeCuda().makeStream(1))), 1);
}

TEST_F(CudaDriverTest, AStreamAtAnothersAddressGetsANameOfItsOwn) {
  fakeCuda().bindPrimary(0);
  fakeCuda().bindPrimary(1);
  const CUstream native = fakeCuda().makeStream(0);
  const Stream first = adopt(native);
  fakeCuda().replaceStream(native, 1);
  const Stream second = adopt(native);
  EXPECT_NE(first, second);
  EXPECT_EQ(deviceOf(first), 0);
  EXPECT_EQ(deviceOf(second), 1);
}

TEST_F(CudaDriverTest, ItDestroysItsOwnStreamsAlone) {
  fakeCuda().bindPrimary(0);
  EXPECT_EQ(driver_->destroyStream(adopt(fakeCuda().makeStream(0))), Status::kInvalidHandle);
  EXPECT_EQ(fakeCuda().destroyedStreams(), 0);
  Stream own;
  EXPECT_EQ(driver_->createStream(&own), Status::kSuccess);
  EXPECT_EQ(driver_->destroyStream(own), Status::kSuccess);
  EXPECT_EQ(fakeCuda().destroyedStreams(), 1);
}

}  // namespace
}  // namespace redraft::devices
