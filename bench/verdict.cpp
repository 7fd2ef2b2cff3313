#include "bench/verdict.h"

namespace tandem::bench {

std::string band(double efficiency) {
  if (efficiency >= 0.95) return "excellent";
  if (efficiency >= 0.85) return "healthy";
  if (efficiency >= 0.80) return "acceptable";
  if (efficiency >= 0.70) return "investigate";
  if (efficiency >= 0.50) return "broken";
  return "broken (suspect the link)";
}

}  // namespace tandem::bench
