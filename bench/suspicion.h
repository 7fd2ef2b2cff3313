#pragma once

#include <string>
#include <vector>

#include "core/telemetry/run_reader.h"

namespace tandem::bench {

/// What can differ between two runs, from what explains a difference in speed at once to what hardly ever
/// does.
enum class Suspicion {
  certain,   ///< a fault to order, a build without optimisation: look no further
  work,      ///< another amount of work in a step (model, batch, data type)
  method,    ///< the same work done in another way (buckets, overlap, loader, probing)
  machine,   ///< other hardware, or other processes on it
  software,  ///< other libraries, settings of libraries, versions
  harmless,  ///< no known way to change a step's time
};
std::string name_of(Suspicion suspicion);

/// One thing that is not the same in two runs.
struct Difference {
  std::string name, a, b;
  Suspicion suspicion = Suspicion::harmless;
  bool option = false;  ///< chosen on the command line; else a fact of the environment
  std::string hint;     ///< why it is suspected, where its name does not say it
};

/// Everything that differs, the most suspicious first. What differs between any two launches (a folder, the
/// time of day) is left out, as are facts that one of the runs does not know.
std::vector<Difference> differences_between(const Run& a, const Run& b);

}  // namespace tandem::bench
