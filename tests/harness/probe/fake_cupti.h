#pragma once
// A CUPTI and a driver for tests: what a capture subscribes to, asks for and gets back, with the faults that the real
// ones have. One at a time; its entry points are plain functions, as CUPTI's are.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/probe/cupti_api.h"

namespace redraft::testing_support {

class FakeCupti {
 public:
  FakeCupti();
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  harness::CuptiApi api() const;

  // What a test sets. `refuse`: entry point → its answer. A call that is refused by id: callback id → answer.
  std::map<std::string, CUptiResult> refuse;
  std::map<std::uint32_t, CUptiResult> refuseCall;
  std::size_t dropped = 0;  // more, answered by cuptiActivityGetNumDroppedRecords
  int devices = 1;
  CUresult synchronizeResult = CUDA_SUCCESS;

  // What the program does. Each makes the callbacks and records of that call, where they are enabled.
  std::uint32_t launch(const char* kernel, std::uint32_t context = 1, std::uint32_t device = 0,
                       std::uint32_t stream = 13);
  /// A launch of the runtime that calls the driver within, whose work has the driver's correlation.
  std::uint32_t launchNested(const char* kernel);
  void loadModule(CUmodule module, std::uint32_t context);
  void getFunction(CUmodule module, const char* name);
  void makeContext(std::uint32_t context, std::uint32_t device);
  void makeStream(std::uint32_t context, std::uint32_t stream);
  /// Calls of the runtime; `recording`: CUPTI's number of one recording of an event.
  void recordEvent(std::uint32_t context, std::uint32_t stream, std::uint64_t recording);
  void waitEvent(std::uint32_t context, std::uint32_t stream, std::uint64_t recording);
  void emit(const void* record, std::size_t size);
  template <class Activity>
  void emit(const Activity& activity) {
    if (isEnabled(activity.kind)) emit(&activity, sizeof activity);
  }

  // What a test looks at.
  bool isEnabled(CUpti_ActivityKind kind) const;
  bool subscribed() const { return subscribed_; }
  int forcedFlushes() const { return forcedFlushes_; }
  int plainFlushes() const { return plainFlushes_; }
  int synchronized() const { return synchronized_; }
  std::size_t buffersOut() const;  // given to CUPTI, and not given back
  void flush();                    // gives back what there is

  struct Entries;

 private:
  friend struct Entries;
  struct Call {
    CUpti_CallbackDomain domain;
    std::uint32_t id;
    std::uint32_t context;
    const void* params;
  };
  /// `effect` makes the records of what the call does, given its correlation.
  std::uint32_t make(const Call& call, const std::function<void(std::uint32_t)>& effect);
  void callback(const Call& call, CUpti_ApiCallbackSite site, std::uint32_t correlation);
  void resource(CUpti_CallbackIdResource id, std::uint32_t context, void* descriptor);
  void emitCall(const Call& call, std::uint32_t correlation, std::uint64_t start, std::uint64_t end);
  std::uint64_t now() const;
  std::uint32_t nextCorrelation();
  bool wants(CUpti_CallbackDomain domain, std::uint32_t id) const;

  mutable std::mutex mutex_;
  std::uint32_t correlation_ = 0;
  std::vector<std::uint8_t*> out_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  std::set<CUpti_ActivityKind> kinds_;
  std::set<std::pair<int, std::uint32_t>> calls_, callbacks_;
  CUpti_CallbackFunc callback_ = nullptr;
  void* userdata_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  CUpti_TimestampCallbackFunc clock_ = nullptr;
  bool subscribed_ = false;
  int forcedFlushes_ = 0, plainFlushes_ = 0, synchronized_ = 0;
  std::uint32_t nextContext_ = 100;
};

/// A handle that stands for CUPTI's id of a context.
CUcontext contextHandle(std::uint32_t id);
/// A handle that stands for a stream of a context.
CUstream streamHandle(std::uint32_t context, std::uint32_t stream);

}  // namespace redraft::testing_support
