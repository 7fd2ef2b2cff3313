#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

namespace tandem {

/// "20260131-142501-gpt-nano-2": local date and time, model, ranks.
std::string run_name(std::string_view model, int ranks, std::time_t now);

/// Makes the folder that a run writes to, and returns it: runs/name, or `log_dir` where that is not empty; in
/// a log_dir that holds something already, a new sub-folder `name`. If that exists too, "-2", "-3" … is
/// added. One rank decides and broadcasts the path (broadcast_text()). Throws UsageError if it cannot be
/// written.
std::filesystem::path make_run_folder(const std::filesystem::path& log_dir, const std::filesystem::path& runs,
                                      const std::string& name);

/// Replaces the file as a whole: no reader ever sees half of it. Throws DeviceError.
void write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace tandem
