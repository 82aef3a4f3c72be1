#include "harness/probe/cupti_records.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "harness/probe/cupti_api.h"
#include "harness/probe/cupti_calls.h"
#include "tests/harness/probe/activities.h"

namespace redraft::harness {
namespace {

using namespace testing_support;

class CuptiRecordsTest : public testing::Test {
 protected:
  CuptiRecordsTest() {
    texts.strings = &strings;
    texts.kernel = [this](const char* name) { return name == nullptr ? 0 : strings.intern(name); };
    texts.call = [this](bool driver, std::uint32_t id) {
      return id == 999 ? 0 : strings.intern(driver ? "cuLaunchKernel" : "cudaLaunchKernel");
    };
  }

  ParsedBuffer parse(const Bytes& bytes) {
    records.clear();
    return parseActivityBuffer(bytes, texts, correlations, records);
  }
  template <class Activity>
  TraceRecord parseOne(const Activity& activity) {
    Bytes bytes;
    append(bytes, activity);
    EXPECT_EQ(parse(bytes).records, 1u);
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? TraceRecord() : records.front();
  }
  const std::string& name(const TraceRecord& record) const { return strings.text(record.name); }

  StringTable strings;
  RecordTexts texts;
  CorrelationCounter correlations;
  std::vector<TraceRecord> records;
};

TEST_F(CuptiRecordsTest, ReadsAKernel) {
  const TraceRecord kernel = parseOne(kernelActivity(42));
  EXPECT_EQ(kernel.kind, RecordKind::kKernel);
  EXPECT_EQ(name(kernel), "matmul");
  EXPECT_EQ(kernel.startNs, 5000);
  EXPECT_EQ(kernel.durationNs, 100);
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.context, 2);
  EXPECT_EQ(kernel.stream, 13);
  EXPECT_EQ(kernel.correlation, 42);
  EXPECT_EQ(kernel.graph, -1);
}

TEST_F(CuptiRecordsTest, LeavesAKernelThatWasNotTimedAtZero) {
  CUpti_ActivityKernel10 untimed = kernelActivity(42);
  untimed.start = untimed.end = 0;
  EXPECT_EQ(parseOne(untimed).startNs, 0);
  EXPECT_EQ(records.front().durationNs, 0);
}

TEST_F(CuptiRecordsTest, ReadsCopiesByWayAndMemory) {
  const TraceRecord down = parseOne(copyActivity(1, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                                 CUPTI_ACTIVITY_MEMORY_KIND_DEVICE));
  EXPECT_EQ(down.kind, RecordKind::kCopy);
  EXPECT_EQ(name(down), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(down.bytes, 4096);
  EXPECT_FALSE(down.has(kPageable));
  const TraceRecord up = parseOne(copyActivity(2, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                               CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE));
  EXPECT_EQ(name(up), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_TRUE(up.has(kPageable));
  EXPECT_EQ(name(parseOne(copyActivity(3, 200, 200, 200))), "Memcpy Unknown (Unknown -> Unknown)");
}

TEST_F(CuptiRecordsTest, ReadsAPeerCopyWithBothItsDevices) {
  const TraceRecord copy = parseOne(peerCopyActivity(8, 0, 1));
  EXPECT_EQ(copy.kind, RecordKind::kPeerCopy);
  EXPECT_EQ(copy.fromDevice, 0);
  EXPECT_EQ(copy.toDevice, 1);
  EXPECT_EQ(copy.device, 0);
  EXPECT_EQ(copy.bytes, 1 << 20);
}

TEST_F(CuptiRecordsTest, ReadsASetOfAGraph) {
  const TraceRecord set = parseOne(setActivity(3));
  EXPECT_EQ(set.kind, RecordKind::kSet);
  EXPECT_EQ(name(set), "Memset (Device)");
  EXPECT_EQ(set.graph, 5);
}

TEST_F(CuptiRecordsTest, ReadsCallsOfBothApis) {
  const TraceRecord runtime = parseOne(callActivity(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 42, 1234));
  EXPECT_EQ(runtime.kind, RecordKind::kApi);
  EXPECT_EQ(name(runtime), "cudaLaunchKernel");
  EXPECT_EQ(runtime.thread, 1234);
  EXPECT_FALSE(runtime.has(kDriverApi));
  EXPECT_TRUE(parseOne(callActivity(CUPTI_ACTIVITY_KIND_DRIVER, 307, 43, 1234)).has(kDriverApi));
  EXPECT_EQ(name(parseOne(callActivity(CUPTI_ACTIVITY_KIND_DRIVER, 999, 44, 1234))), "cu#999");
}

TEST_F(CuptiRecordsTest, SaysThatACallWasRefusedSoThatNoWorkIsAskedOfIt) {
  CUpti_ActivityAPI call = callActivity(CUPTI_ACTIVITY_KIND_DRIVER, 307, 43, 1);
  call.returnValue = 400;
  EXPECT_EQ(name(parseOne(call)), "refused cuLaunchKernel");
  // As events have it: the supervisor looks for the status that it saw there.
  EXPECT_EQ(strings.text(records.front().detail), "CUDA_ERROR_INVALID_HANDLE: invalid resource handle");
  call.returnValue = 719;
  parseOne(call);
  EXPECT_EQ(strings.text(records.front().detail), "CUDA_ERROR_UNKNOWN: error 719");
}

TEST_F(CuptiRecordsTest, JoinsAWaitToTheRecordingThatItWaitsFor) {
  const TraceRecord event = parseOne(eventActivity(5, 1001));
  EXPECT_EQ(event.kind, RecordKind::kEvent);
  const TraceRecord wait = parseOne(waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 6, 1001));
  EXPECT_EQ(name(wait), "Stream Wait Event");
  EXPECT_EQ(wait.link, event.link);
  EXPECT_EQ(wait.object, event.object);
  EXPECT_EQ(wait.durationNs, 900);
  const TraceRecord none = parseOne(
      waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 7, CUPTI_SYNCHRONIZATION_INVALID_VALUE));
  EXPECT_EQ(none.link, -1);
}

TEST_F(CuptiRecordsTest, AWaitForAStreamIsForNoEvent) {
  const TraceRecord wait = parseOne(waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 6, 1001));
  EXPECT_EQ(name(wait), "Stream Sync");
  EXPECT_EQ(wait.link, -1);
  EXPECT_EQ(wait.object, 0u);
}

TEST_F(CuptiRecordsTest, AQueryThatWasNotReadyIsNoWait) {
  Bytes bytes;
  append(bytes, waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 6, 1, CUDA_ERROR_NOT_READY));
  EXPECT_EQ(parse(bytes).records, 1u);
  EXPECT_TRUE(records.empty());
}

TEST_F(CuptiRecordsTest, ReadsContextsStreamsMemoryAndOverhead) {
  EXPECT_EQ(parseOne(contextActivity(4, 1)).stream, 7);
  EXPECT_TRUE(parseOne(streamActivity(4, 15, 33)).has(kNonBlocking));
  const TraceRecord taken =
      parseOne(memoryActivity(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE));
  EXPECT_EQ(taken.bytes, 2 << 20);
  EXPECT_EQ(taken.device, 1);
  EXPECT_EQ(taken.stream, -1);
  EXPECT_EQ(
      parseOne(memoryActivity(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)).bytes,
      -(2 << 20));
  const TraceRecord lazy = parseOne(overheadActivity(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 77));
  EXPECT_EQ(name(lazy), "Lazy Function Loading");
  EXPECT_EQ(lazy.thread, 77);
  Bytes host;
  append(host, memoryActivity(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, CUPTI_ACTIVITY_MEMORY_KIND_PINNED));
  parse(host);
  EXPECT_TRUE(records.empty());
}

TEST_F(CuptiRecordsTest, ReadsNothingBeyondACut) {
  Bytes whole;
  append(whole, callActivity(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, 10));
  append(whole, kernelActivity(1));
  append(whole, copyActivity(2, 1, 2, 3));
  const std::size_t ends[] = {sizeof(CUpti_ActivityAPI), sizeof(CUpti_ActivityAPI) + sizeof(CUpti_ActivityKernel10),
                              whole.size()};
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const ParsedBuffer parsed = parse(cut);
    const std::size_t complete = (length >= ends[0]) + (length >= ends[1]) + (length >= ends[2]);
    EXPECT_EQ(parsed.records, complete) << length;
    EXPECT_EQ(records.size(), complete) << length;
    EXPECT_EQ(parsed.truncated, length != 0 && length != ends[0] && length != ends[1] && length != ends[2]) << length;
  }
}

TEST_F(CuptiRecordsTest, StopsAtAKindOfAnotherVersionAndSaysWhich) {
  Bytes bytes;
  append(bytes, kernelActivity(1));
  for (const std::uint32_t unknown : {0u, 56u, 4000000000u}) {
    Bytes with = bytes;
    append(with, unknown);
    with.resize(with.size() + 60);
    append(with, kernelActivity(2));
    const ParsedBuffer parsed = parse(with);
    EXPECT_EQ(parsed.records, 1u);
    EXPECT_EQ(parsed.bytes, sizeof(CUpti_ActivityKernel10));
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(parsed.unknownKind, unknown);
  }
}

TEST_F(CuptiRecordsTest, PassesOverKindsThatItHasNoUseFor) {
  Bytes bytes;
  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  append(bytes, external);
  append(bytes, kernelActivity(2));
  EXPECT_EQ(parse(bytes).records, 2u);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.front().correlation, 2);
}

TEST_F(CuptiRecordsTest, GoesOnCountingWhereCorrelationsBeginAgain) {
  EXPECT_EQ(parseOne(kernelActivity(0x90000000u)).correlation, 0x90000000);
  EXPECT_EQ(parseOne(kernelActivity(0xfffffff0u)).correlation, 0xfffffff0);
  EXPECT_EQ(parseOne(kernelActivity(5)).correlation, 0x100000005);
  EXPECT_EQ(parseOne(kernelActivity(0xfffffff8u)).correlation, 0xfffffff8);  // one that comes late
  EXPECT_EQ(parseOne(kernelActivity(6)).correlation, 0x100000006);
  EXPECT_EQ(parseOne(kernelActivity(0)).correlation, -1);
}

class RealCuptiTest : public testing::Test {
 protected:
  void SetUp() override {
    CaptureRefusal refusal;
    if (!api.loadCupti(refusal)) GTEST_SKIP() << refusal.place << ": " << refusal.message;
    Dl_info info{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(api.cuptiGetVersion), &info), 0);
    void* const library = ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    next = reinterpret_cast<decltype(next)>(::dlsym(library, "cuptiActivityGetNextRecord"));
    ASSERT_NE(next, nullptr);
  }
  CuptiApi api;
  decltype(&::cuptiActivityGetNextRecord) next = nullptr;
};

TEST_F(RealCuptiTest, AgreesOnTheSizeOfEveryRecord) {
  int kinds = 0;
  for (std::uint32_t kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    const std::size_t size = activityRecordSize(kind);
    if (size == 0) continue;
    ++kinds;
    std::vector<std::uint64_t> buffer(64, 0);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
    std::memcpy(bytes, &kind, sizeof kind);
    CUpti_Activity* record = nullptr;
    EXPECT_NE(next(bytes, size - 1, &record), CUPTI_SUCCESS) << "kind " << kind;
    record = nullptr;
    EXPECT_EQ(next(bytes, size, &record), CUPTI_SUCCESS) << "kind " << kind;
  }
  EXPECT_EQ(kinds, 21);
}

TEST_F(RealCuptiTest, NamesTheCallsThatAreCaptured) {
  std::map<std::string, int> captured;
  int all = 0;
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    for (std::uint32_t id = 1; id < 2000; ++id) {
      const char* name = nullptr;
      if (api.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS) continue;
      ++all;
      if (isCapturedCall(plainCallName(name))) ++captured[plainCallName(name)];
    }
  }
  EXPECT_GT(all, 1000);
  for (const char* call : {"cudaLaunchKernel",
                           "cudaLaunchKernelExC",
                           "cuLaunchKernel",
                           "cuLaunchKernelEx",
                           "cudaLaunchCooperativeKernel",
                           "cuLaunchCooperativeKernel",
                           "cudaGraphLaunch",
                           "cuGraphLaunch",
                           "cudaMemcpyAsync",
                           "cuMemcpyAsync",
                           "cuMemcpyPeerAsync",
                           "cuMemcpyHtoDAsync",
                           "cudaMemsetAsync",
                           "cuMemsetD8Async",
                           "cudaMalloc",
                           "cuMemAllocAsync",
                           "cudaSetDevice",
                           "cuCtxCreate",
                           "cuCtxSetCurrent",
                           "cudaEventRecord",
                           "cuStreamWaitEvent",
                           "cudaDeviceSynchronize",
                           "cuStreamSynchronize",
                           "cuModuleLoadData",
                           "cuModuleGetFunction"})
    EXPECT_GT(captured[call], 0) << call;
  for (const char* call : {"cudaGetDevice", "cudaGetLastError", "cudaEventQuery", "cudaStreamQuery", "cuCtxGetCurrent",
                           "cudaSetDeviceFlags", "cudaStreamIsCapturing", "cuLaunchHostFunc"})
    EXPECT_FALSE(captured.contains(call)) << call;
}

TEST(CuptiCallsTest, TakesVersionsOffNames) {
  EXPECT_EQ(plainCallName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plainCallName("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plainCallName("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(plainCallName("cuMemcpyAsync_ptsz"), "cuMemcpyAsync");
  EXPECT_EQ(plainCallName("cuMemcpy3D"), "cuMemcpy3D");
  EXPECT_EQ(plainCallName("cuMemsetD8"), "cuMemsetD8");
  EXPECT_EQ(plainCallName("_v2"), "");
  EXPECT_EQ(plainCallName(""), "");
}

}  // namespace
}  // namespace redraft::harness
