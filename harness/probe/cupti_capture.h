#pragma once
// The capture: subscribes to CUPTI, keeps the origin of calls, and turns CUPTI's buffers into records on a thread of
// its own. docs/cuda.md, "Capture", says what is recorded and why.
//
// Threads: callbacks run on the program's threads and only write to room that was taken before. One worker asks for
// records (flush), parses them and zeroes their buffers. A capture is never destroyed, because CUPTI may call back
// after it has been told to stop.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "harness/probe/buffer_pool.h"
#include "harness/probe/cupti_api.h"
#include "harness/probe/cupti_records.h"
#include "harness/probe/declaration_log.h"
#include "harness/probe/device_capture.h"
#include "harness/probe/origin_table.h"
#include "harness/probe/resource_log.h"

namespace redraft::harness {

class CuptiCapture {
 public:
  /// Begins; null with the reason. Only one capture is active in a process, but the next may begin when it has ended.
  static CuptiCapture* start(const CuptiApi& api, const CaptureHost& host, const CaptureOptions& options,
                             CaptureRefusal& refusal);

  CanaryPlan plantCanaries();
  void flush(std::int64_t step);
  bool pause(std::string& error);
  bool resume(std::string& error);
  void leaveOut(const std::set<CapturePart>& parts) { leftOut_ = parts; }
  Trace stop(StopMode mode);
  CaptureCost cost() const;
  DeclarationLog& declarations() { return declarations_; }

 private:
  /// A call of the runtime or driver API that is recorded.
  struct CapturedCall {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    bool traced = true;  // false: an id that this CUPTI refuses
  };

  CuptiCapture(const CuptiApi& api, const CaptureHost& host, const CaptureOptions& options);

  // Set-up. Each notes the first call that CUPTI refused, and what follows is not tried.
  bool subscribe(CaptureRefusal& refusal);
  bool configure();
  bool setAttribute(CUpti_ActivityAttribute attribute, bool on);
  bool listCalls();
  bool enable(bool on);
  bool enableKinds(bool on);
  bool enableCalls(bool on);
  void muteOtherCalls();
  bool enableCall(CapturedCall& call, bool on);
  bool takes(CapturePart part) const { return leftOut_.count(part) == 0; }
  bool succeeded(CUptiResult result, const std::string& call);

  // On the program's threads.
  static void onCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  static void requestBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords);
  static void completeBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid);
  void apiCallback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void codeReturned(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void resourceCallback(CUpti_CallbackId id, const CUpti_ResourceData& data);
  std::int32_t contextId(CUcontext context);

  // On the worker.
  void work();
  bool originsRunShort() const;
  void flushNow(bool forced);
  void parseFull();
  void addOrigin(TraceRecord& record);
  void addOverhead(const char* name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes);

  void waitForDevices();
  void endWorker();
  void countDropped();
  Trace takeTrace();

  const CuptiApi api_;
  const CaptureHost host_;
  const CaptureOptions options_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::string refused_;  // the first call that CUPTI refused, and its answer
  std::vector<CapturedCall> calls_, otherCalls_;
  std::unordered_map<std::uint64_t, std::string> callNames_;  // domain and id → name
  std::vector<bool> isCode_;                                  // of the driver's ids
  std::set<CapturePart> leftOut_;

  BufferPool pool_;
  OriginTable origins_;
  ResourceLog resources_;
  DeclarationLog declarations_;
  std::atomic<bool> stopped_{false}, paused_{false};
  std::atomic<std::int64_t> sampledCallbacks_{0}, sampledNs_{0}, refusedCallbacks_{0}, lateBuffers_{0};
  std::atomic<std::uint32_t> latestCorrelation_{0};  // of the sampled calls
  std::mutex contextMutex_;
  std::vector<CUcontext> contexts_;  // that live

  std::mutex workMutex_;
  std::condition_variable work_;
  bool flushWanted_ = false, endWanted_ = false;
  std::optional<std::int64_t> flushAskedNs_;
  std::thread worker_;

  // The worker's, and stop()'s when the worker has ended.
  Trace trace_;
  CorrelationCounter correlations_;
  std::unordered_map<std::string, StringId> kernelNames_;
  std::unordered_map<devices::RoleId, StringId> roleNames_;
  std::vector<FullBuffer> full_;
  std::uint32_t correlationFlushed_ = 0;  // the latest when records were last asked for
  std::int64_t dropped_ = 0;
  mutable std::mutex costMutex_;
  CaptureCost cost_;
  bool taken_ = false;
};

}  // namespace redraft::harness
