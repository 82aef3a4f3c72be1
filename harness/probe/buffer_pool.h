#pragma once
// Buffers for CUPTI's records. CUPTI asks for them, and gives them back full, on the program's own threads: so they are
// made and zeroed before, and parsed and zeroed again on another thread.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace redraft::harness {

/// A buffer that CUPTI gave back: `valid` bytes of records.
struct FullBuffer {
  std::byte* data = nullptr;
  std::size_t valid = 0;
};

/// Thread-safe. Buffers are aligned to 8 bytes or more and all zero when they are handed out.
class BufferPool {
 public:
  BufferPool(std::size_t bufferBytes, std::size_t buffers);

  /// Null when the pool is empty and there is no more memory.
  std::byte* request();
  /// Takes a buffer back from CUPTI; the parser fetches it by takeFull().
  void complete(std::byte* data, std::size_t valid);
  /// All that came back since the last call, in that order.
  void takeFull(std::vector<FullBuffer>& into);
  /// Zeroes what the parser has done with, and keeps it for request().
  void recycle(const FullBuffer& buffer);

  std::size_t bufferBytes() const { return bufferBytes_; }
  bool hasFull() const;
  bool mostlyFree() const;      // at least half of what was made at first
  std::int64_t extra() const;   // made by request(), because none was free
  std::int64_t failed() const;  // requests that got none

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::byte* make();

  const std::size_t bufferBytes_, buffers_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte, Free>> all_;
  std::vector<std::byte*> free_;
  std::vector<FullBuffer> full_;
  std::int64_t extra_ = 0, failed_ = 0;
};

}  // namespace redraft::harness
