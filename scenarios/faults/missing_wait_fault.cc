#include "scenarios/faults/missing_wait_fault.h"

#include <utility>

#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {
namespace {

class MissingWait : public Fault {
 public:
  explicit MissingWait(JsonReader parameters)
      : role_(parameters.string("role", "drafter[0]")),
        fromStep_(parameters.integer("from_step", 0, std::int64_t{1} << 40, 2)) {
    parameters.finish();
  }

  void install(FaultSite& site) override { site.topology.deviceOf(role_); }  // throws when there is no such role
  /// Of features alone: gradients that are taken too early would be another fault.
  bool waitsForHandOff() const override {
    return !calledBy(role_) || callingStep() < fromStep_ || devices::currentOrigin().phase != devices::Phase::kHandOff;
  }

 private:
  const std::string role_;
  const std::int64_t fromStep_;
};

}  // namespace

std::unique_ptr<Fault> makeMissingWait(JsonReader parameters) {
  return std::make_unique<MissingWait>(std::move(parameters));
}

}  // namespace redraft::scenarios
