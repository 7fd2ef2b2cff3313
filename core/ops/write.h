#pragma once

namespace tandem {

/// Whether an operation overwrites its output or adds to it.
enum class Write { assign, add };

}  // namespace tandem
