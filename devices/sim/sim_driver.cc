#include "devices/sim/sim_driver.h"

#include <cstdlib>

#include "base/error.h"
#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {
namespace {

std::uint64_t nextSerial() {
  static std::atomic<std::uint64_t> serial{1};
  return serial.fetch_add(1, std::memory_order_relaxed);
}

void check(const SimOptions& options) {
  const int count = options.topology.deviceCount;
  if (count < 1 || count > 64) {
    throwBadInput("topology", "device count " + std::to_string(count) + " is not between 1 and 64",
                  "name 1 to 64 devices");
  }
  const auto require = [&](int device, const std::string& what) {
    if (device < 0 || device >= count) {
      throwBadInput("topology", what + " names device " + std::to_string(device) + " of " + std::to_string(count),
                    "name a device from 0 to " + std::to_string(count - 1));
    }
  };
  for (const RoleDevice& role : options.topology.roles) require(role.device, "role \"" + role.role + "\"");
  for (const auto& [from, to] : options.topology.copyEdges) {
    require(from, "a copy edge");
    require(to, "a copy edge");
  }
}

}  // namespace

SimDriverImpl::SimDriverImpl(SimOptions options)
    : options_(std::move(options)),
      serial_(nextSerial()),
      log_(makeDriverLog(options_.logCapacity)),
      devices_(options_.topology.deviceCount),
      peers_(static_cast<std::size_t>(options_.topology.deviceCount) * options_.topology.deviceCount),
      roles_(kRoles * options_.topology.deviceCount) {}

SimDriverImpl::~SimDriverImpl() {
  threadContext(serial_) = nullptr;
  for (const AddressMap::Found& found : memory_.takeContext(0)) {
    if (found.allocation.owner == MemoryOwner::kDriver) std::free(reinterpret_cast<void*>(found.begin));
  }
}

LogRecord SimDriverImpl::startRecord(CallKind kind, Status status) {
  LogRecord record = newLogRecord(kind);
  record.status = status;
  if (const ContextState* context = threadContext(serial_)) {
    record.context = context->id;
    record.device = context->device;
  }
  return record;
}

Status SimDriverImpl::keep(LogRecord record) {
  const Status status = record.status;
  if (status != Status::kSuccess) noteRefusal(status, record.detail);
  log_->add(std::move(record));
  return status;
}

Status SimDriverImpl::finish(CallKind kind, Verdict verdict, const std::string& name, std::uint64_t object) {
  return finish(kind, verdict.status, [&](LogRecord& record) {
    record.name = name;
    record.object = object;
    record.detail = std::move(verdict.why);
  });
}

SimDriverImpl::Verdict SimDriverImpl::poison() const {
  if (!poisoned_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(faultMutex_);
  return {Status::kIllegalAddress, "the process is poisoned since " + firstFault_};
}

std::unique_ptr<SimDriver> makeSimDriver(SimOptions options) {
  check(options);
  return std::make_unique<SimDriverImpl>(std::move(options));
}

}  // namespace redraft::devices
