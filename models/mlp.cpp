#include "models/mlp.h"

#include <string>

#include "models/layers/activation.h"
#include "models/layers/linear.h"

namespace tandem {

Mlp::Mlp(const MlpConfig& config) {
  require(config.sizes.size() >= 2, "an MLP needs an input and an output size, not {} sizes",
          config.sizes.size());
  for (std::size_t i = 0; i + 1 < config.sizes.size(); ++i) {
    if (i > 0) add<Activation>(config.activation).set_in_place(true);
    add<Linear>("layers." + std::to_string(i), config.sizes[i], config.sizes[i + 1]);
  }
}

}  // namespace tandem
