#pragma once
// Which module of the model the calling thread works in, under the names of checkpoints: "layers.1.self_attn". Marks
// for whoever observes single operations; without an observer a mark costs a store. Backward has none of its own: an
// operation there belongs to the module of its forward.

#include <cstdint>
#include <string>

namespace redraft::model {

/// Opened and closed on one thread, in order. Scopes nest.
class ModuleScope {
 public:
  /// `name` has static storage. `number`: of one among several ("layers", 1); -1: none.
  explicit ModuleScope(const char* name, std::int64_t number = -1);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;
};

/// The names of the calling thread's open scopes with dots between; "" outside all.
std::string currentModule();

}  // namespace redraft::model
