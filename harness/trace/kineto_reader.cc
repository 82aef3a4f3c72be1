#include "harness/trace/kineto_reader.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "harness/trace/kineto_window.h"
#include "harness/trace/trace_source.h"

namespace redraft::harness {
namespace {

struct Done {
  std::size_t worker = 0;
  ParsedWindow window;
};

/// Reads one file with several threads: whoever is free takes the next window.
class ParallelReader {
 public:
  ParallelReader(const std::string& path, const KinetoOptions& options, Cutting cutting)
      : path_(path), cutter_(path, cutting, options.windowBytes), parsers_(static_cast<std::size_t>(options.threads)) {}

  /// The trace, or the first window that could not be parsed. Other errors are thrown.
  std::optional<WindowError> run(Trace& trace) {
    std::vector<std::thread> helpers;
    for (std::size_t worker = 1; worker < parsers_.size(); ++worker)
      helpers.emplace_back([this, worker] { work(worker); });
    work(0);
    for (std::thread& helper : helpers) helper.join();
    if (broken_) return broken_->second;
    if (failure_) std::rethrow_exception(failure_);
    merge(trace);
    return std::nullopt;
  }

 private:
  bool take(EventWindow& window) {
    const std::lock_guard lock(mutex_);
    if (broken_ || failure_) return false;
    try {
      return cutter_.next(window);
    } catch (...) {  // noted before another worker can ask a cutter that has failed
      failure_ = std::current_exception();
      return false;
    }
  }

  void work(std::size_t worker) {
    EventWindow window;
    try {
      while (take(window)) {
        ParsedWindow parsed = parsers_[worker].parse(window, cutter_.isList());
        const std::lock_guard lock(mutex_);
        windows_.emplace(window.number, Done{worker, std::move(parsed)});
      }
    } catch (const WindowError& error) {
      const std::lock_guard lock(mutex_);
      if (!broken_ || window.number < broken_->first) broken_ = {window.number, error};
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  static void mergeHead(TraceFile& into, TraceFile& from) {
    if (!from.capture.source.empty()) into.capture = std::move(from.capture);
    if (from.rank) into.rank = from.rank;
    if (from.worldSize) into.worldSize = from.worldSize;
    into.deviceNames.merge(from.deviceNames);
    into.threadNames.merge(from.threadNames);
  }

  void merge(Trace& trace) {
    std::vector<std::vector<StringId>> ids;
    for (const KinetoWindowParser& parser : parsers_) {
      std::vector<StringId>& of = ids.emplace_back();
      for (std::size_t id = 0; id < parser.strings().size(); ++id)
        of.push_back(trace.strings.intern(parser.strings().text(static_cast<StringId>(id))));
    }
    std::size_t records = 0;
    for (const auto& [number, done] : windows_) records += done.window.records.size();
    trace.records.reserve(records);
    TraceFile& file = trace.files.emplace_back();
    for (auto& [number, done] : windows_) {
      for (TraceRecord& record : done.window.records) {
        for (StringId* text : {&record.name, &record.role, &record.phase, &record.detail, &record.shape})
          *text = ids[done.worker][*text];
        record.index += static_cast<std::uint32_t>(file.events);
        trace.records.push_back(record);
      }
      file.events += done.window.head.events;
      mergeHead(file, done.window.head);
      done.window.records = {};
    }
    if (file.events > std::numeric_limits<std::uint32_t>::max())
      throwBadInput(path_, "holds more than 4 billion events");
    file.path = path_;
    file.bytes = cutter_.position();
  }

  const std::string& path_;
  WindowCutter cutter_;
  std::vector<KinetoWindowParser> parsers_;
  std::mutex mutex_;
  std::map<std::uint64_t, Done> windows_;
  std::optional<std::pair<std::uint64_t, WindowError>> broken_;
  std::exception_ptr failure_;
};

}  // namespace

Trace readKineto(const std::string& path, const KinetoOptions& options) {
  REDRAFT_CHECK(options.threads > 0 && options.windowBytes > 0, "a trace is read by a thread, in windows");
  // Cutting by sight is twice as fast, and a wrong cut always breaks a window; then, or when the file is broken,
  // brackets and strings are followed.
  std::optional<WindowError> error;
  for (const Cutting cutting : {Cutting::kBySight, Cutting::kByParsing}) {
    Trace trace;
    error = ParallelReader(path, options, cutting).run(trace);
    if (!error) return trace;
  }
  throwBadInput(path + ": byte " + std::to_string(error->offset), error->message,
                "is it whole, and JSON as torch.profiler exports it?");
}

}  // namespace redraft::harness
