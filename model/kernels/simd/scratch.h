#pragma once
// Workspace of one thread, kept between calls, so that small products allocate nothing.

#include <cstddef>
#include <memory>
#include <new>

namespace redraft::model::simd {

class Scratch {
 public:
  /// `count` floats on a cache line's boundary, contents undefined; valid until the next call.
  float* floats(std::size_t count) {
    if (count > capacity_) {
      data_.reset();
      capacity_ = 0;
      data_.reset(static_cast<float*>(::operator new(count * sizeof(float), kAlignment)));
      capacity_ = count;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(float* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<float, Delete> data_;
  std::size_t capacity_ = 0;
};

}  // namespace redraft::model::simd
