#include "harness/probe/buffer_pool.h"

#include <algorithm>
#include <cstring>

namespace redraft::harness {
namespace {

constexpr std::size_t kRoomForExtra = 1024;  // beyond it the lists of buffers grow in a callback

}  // namespace

BufferPool::BufferPool(std::size_t bufferBytes, std::size_t buffers) : bufferBytes_(bufferBytes), buffers_(buffers) {
  all_.reserve(buffers + kRoomForExtra);
  free_.reserve(buffers + kRoomForExtra);
  full_.reserve(buffers + kRoomForExtra);
  for (std::size_t i = 0; i < buffers; ++i) {
    std::byte* const data = make();
    if (data == nullptr) break;          // request() tries again, and counts
    std::memset(data, 0, bufferBytes_);  // touches every page now
    free_.push_back(data);
  }
}

std::byte* BufferPool::make() {
  auto* const data = static_cast<std::byte*>(std::calloc(bufferBytes_, 1));
  if (data != nullptr) all_.emplace_back(data);
  return data;
}

std::byte* BufferPool::request() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::byte* const data = free_.back();
    free_.pop_back();
    return data;
  }
  std::byte* const data = make();
  ++(data != nullptr ? extra_ : failed_);
  return data;
}

void BufferPool::complete(std::byte* data, std::size_t valid) {
  const std::lock_guard lock(mutex_);
  full_.push_back({data, std::min(valid, bufferBytes_)});
}

void BufferPool::takeFull(std::vector<FullBuffer>& into) {
  const std::lock_guard lock(mutex_);
  into.assign(full_.begin(), full_.end());
  full_.clear();
}

void BufferPool::recycle(const FullBuffer& buffer) {
  // Whole, not only its valid part: what CUPTI may have begun behind it must be gone too.
  std::memset(buffer.data, 0, bufferBytes_);
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer.data);
}

bool BufferPool::hasFull() const {
  const std::lock_guard lock(mutex_);
  return !full_.empty();
}

bool BufferPool::mostlyFree() const {
  const std::lock_guard lock(mutex_);
  return 2 * free_.size() >= buffers_;
}

std::int64_t BufferPool::extra() const {
  const std::lock_guard lock(mutex_);
  return extra_;
}

std::int64_t BufferPool::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

}  // namespace redraft::harness
