#pragma once

#include <string>

#include "bench/scaling.h"
#include "bench/table.h"

namespace tandem::bench {

/// What is printed: the table, each efficiency against every baseline, the notes.
std::string to_text(const ScalingReport& report);
std::string to_markdown(const ScalingReport& report);
std::string to_csv(const ScalingReport& report);
/// The content of scaling.json. Folders of runs are written relative to `folder`, where the file will lie.
std::string to_json(const ScalingReport& report, const std::string& folder);

/// Writes scaling.json, scaling.csv and scaling.md into `folder`, which is made if it is missing.
void write_files(const ScalingReport& report, const std::string& folder);

}  // namespace tandem::bench
