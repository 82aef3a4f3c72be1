#pragma once
// Binds a context for a scope and restores the one that was bound.

#include "devices/driver.h"

namespace redraft::devices {

/// On the thread that makes it, from construction to destruction. The constructor throws DeviceError when the driver
/// refuses; the destructor does not throw, it writes a refusal to the diagnostics.
class ContextGuard {
 public:
  ContextGuard(Driver& driver, int device);  // the device's primary context
  ContextGuard(Driver& driver, Context context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

  Context context() const { return context_; }
  Context former() const { return former_; }

 private:
  void bind();

  Driver& driver_;
  Context context_;
  Context former_;
};

}  // namespace redraft::devices
