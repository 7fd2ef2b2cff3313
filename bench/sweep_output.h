#pragma once

#include <string>

#include "bench/sweep.h"

namespace tandem::bench {

/// What is printed: the table, a chart of step time over caps for each series, the notes.
std::string to_text(const SweepReport& report);
std::string to_markdown(const SweepReport& report);
std::string to_csv(const SweepReport& report);
/// The content of sweep.json. Folders of runs are written relative to `folder`, where the file will lie.
std::string to_json(const SweepReport& report, const std::string& folder);

/// Step time over bucket caps, one line a cap with the interval's ends and its middle: the U-shape, if there
/// is one.
std::string chart(const SweepReport& report);

/// Writes sweep.json, sweep.csv and sweep.md into `folder`.
void write_files(const SweepReport& report, const std::string& folder);

}  // namespace tandem::bench
