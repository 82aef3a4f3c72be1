#pragma once

namespace redraft {

/// "0.1.0".
const char* versionText();

/// The commit that this program was built from, "-dirty" appended when tracked files differed; "unknown" outside a git
/// tree.
const char* commitText();

}  // namespace redraft
