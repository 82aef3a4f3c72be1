// CuptiCapture on its own thread: asks for records, parses them, and gives their buffers back.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "harness/probe/capture_clock.h"
#include "harness/probe/cupti_capture.h"
#include "harness/probe/demangle.h"

namespace redraft::harness {
void CuptiCapture::work() {
  ::pthread_setname_np(::pthread_self(), "redraft-probe");
  std::unique_lock lock(workMutex_);
  while (!endWanted_) {
    work_.wait_for(lock, std::chrono::milliseconds(100),
                   [this] { return endWanted_ || flushWanted_ || pool_.hasFull(); });
    const bool flush = std::exchange(flushWanted_, false) || originsRunShort();
    lock.unlock();
    if (flush) flushNow(false);
    parseFull();
    lock.lock();
  }
}

/// A thread's records stay with CUPTI until its buffer is full, and the role of each call is kept for so many calls of
/// all threads. Correlations count calls that are not recorded too.
bool CuptiCapture::originsRunShort() const {
  return latestCorrelation_.load(std::memory_order_relaxed) - correlationFlushed_ >= origins_.slots() / 4;
}

/// Holds no lock: CUPTI calls back from here.
void CuptiCapture::flushNow(bool forced) {
  correlationFlushed_ = latestCorrelation_.load(std::memory_order_relaxed);
  const std::int64_t begun = captureClockNs();
  const CUptiResult result = api_.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  const std::int64_t ended = captureClockNs();
  if (result != CUPTI_SUCCESS) ++dropped_;
  countDropped();
  addOverhead("Redraft Flush", begun, ended, 0);
  const std::lock_guard lock(costMutex_);
  ++cost_.flushes;
  cost_.flushNs += ended - begun;
}

void CuptiCapture::countDropped() {
  std::size_t dropped = 0;
  const CUptiResult result = api_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  dropped_ += result == CUPTI_SUCCESS ? static_cast<std::int64_t>(dropped) : 1;
}

void CuptiCapture::parseFull() {
  RecordTexts texts;
  texts.strings = &trace_.strings;
  texts.kernel = [this](const char* name) -> StringId {
    if (name == nullptr) return 0;
    const auto [known, added] = kernelNames_.try_emplace(name, 0);
    if (added) known->second = trace_.strings.intern(demangled(name));
    return known->second;
  };
  texts.call = [this](bool driver, std::uint32_t id) -> StringId {
    const auto name = callNames_.find(std::uint64_t{driver} << 32 | id);
    return name == callNames_.end() ? 0 : trace_.strings.intern(name->second);
  };
  pool_.takeFull(full_);
  for (const FullBuffer& buffer : full_) {
    const std::int64_t begun = captureClockNs();
    const std::size_t first = trace_.records.size();
    const ParsedBuffer parsed = parseActivityBuffer({buffer.data, buffer.valid}, texts, correlations_, trace_.records);
    if (parsed.truncated || parsed.unknownKind) ++dropped_;
    for (std::size_t i = first; i < trace_.records.size(); ++i) addOrigin(trace_.records[i]);
    const std::int64_t ended = captureClockNs();
    pool_.recycle(buffer);
    if (buffer.valid == 0) continue;
    addOverhead("Redraft Parse", begun, ended, static_cast<std::int64_t>(buffer.valid));
    const std::lock_guard lock(costMutex_);
    ++cost_.buffers;
    cost_.parseNs += ended - begun;
    cost_.bytes += static_cast<std::int64_t>(parsed.bytes);
    cost_.records += static_cast<std::int64_t>(parsed.records);
  }
}

void CuptiCapture::addOrigin(TraceRecord& record) {
  if (record.correlation < 0) return;
  const auto origin = origins_.find(static_cast<std::uint32_t>(record.correlation));
  if (!origin) {
    // Work has its role of its call, which passes it on.
    if (record.kind != RecordKind::kApi || !origins_.overwritten(static_cast<std::uint32_t>(record.correlation)))
      return;
    const std::lock_guard lock(costMutex_);
    ++cost_.lostOrigins;
    return;
  }
  record.step = static_cast<std::int32_t>(origin->step);
  if (origin->phase != devices::Phase::kNone) record.phase = trace_.strings.intern(devices::phaseName(origin->phase));
  if (origin->role == 0) return;
  const auto [name, added] = roleNames_.try_emplace(origin->role, 0);
  if (added) name->second = trace_.strings.intern(host_.roleName(origin->role));
  record.role = name->second;
}

void CuptiCapture::addOverhead(const char* name, std::int64_t startNs, std::int64_t endNs, std::int64_t bytes) {
  TraceRecord record;
  record.kind = RecordKind::kOverhead;
  record.name = trace_.strings.intern(name);
  record.startNs = startNs;
  record.durationNs = endNs - startNs;
  record.bytes = bytes;
  record.thread = ::gettid();
  trace_.records.push_back(record);
}

}  // namespace redraft::harness
