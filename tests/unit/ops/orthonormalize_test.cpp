#include "core/ops/orthonormalize.h"

#include <cmath>

#include "core/ops/axpy.h"
#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

/// The largest |⟨column i, column j⟩ − δij|.
template <class T>
double defect(const Owned<T>& matrix, std::int64_t rows, std::int64_t columns) {
  double worst = 0;
  for (std::int64_t a = 0; a < columns; ++a)
    for (std::int64_t b = 0; b < columns; ++b) {
      double dot = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        dot += static_cast<double>(matrix[i * columns + a]) * static_cast<double>(matrix[i * columns + b]);
      worst = std::max(worst, std::abs(dot - (a == b)));
    }
  return worst;
}

TEST(Orthonormalize, MakesColumnsOrthonormalAndKeepsTheirSpan) {
  Random random;
  Context context = Context::cpu();
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 3}, {8, 8}, {1001, 5}}) {
    const auto before = random.normal<double>({rows, columns}), q = before;
    ops::orthonormalize(context, q);
    EXPECT_LT(defect(q, rows, columns), 1e-12) << "seed " << random.seed();
    for (std::int64_t c = 0; c < columns; ++c)  // each old column is a sum of the new ones up to its own
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k <= c; ++k) {
          double along = 0;
          for (std::int64_t j = 0; j < rows; ++j) along += q[j * columns + k] * before[j * columns + c];
          sum += along * q[i * columns + k];
        }
        ASSERT_NEAR(sum, before[i * columns + c], 1e-11) << "seed " << random.seed();
      }
  }
}

TEST(Orthonormalize, BearsColumnsThatDependOnEachOther) {
  Random random;
  Context context = Context::cpu();
  auto q = random.normal<float>({50, 4});
  for (std::int64_t i = 0; i < 50; ++i) {
    q[i * 4 + 1] = 2 * q[i * 4];
    q[i * 4 + 2] = 0;
    q[i * 4 + 3] = q[i * 4] * 1e-20f;
  }
  ops::orthonormalize(context, q);
  EXPECT_LT(defect(q, 50, 4), 1e-5) << "seed " << random.seed();
  EXPECT_THROW(ops::orthonormalize(context, Owned<float>({3, 4})), ContractError);
}

TEST(Axpy, AddsAMultiple) {
  Random random;
  Context context = Context::cpu();
  const auto x = random.normal<float>({1003}), before = random.normal<float>({1003}), y = before;
  ops::axpy(context, -0.25, x, y);
  for (std::int64_t i = 0; i < 1003; ++i)
    ASSERT_NEAR(y[i], before[i] - 0.25 * static_cast<double>(x[i]), 1e-6) << "seed " << random.seed();
  EXPECT_THROW(ops::axpy(context, 1, x, Owned<float>({1002})), ContractError);
  EXPECT_THROW(ops::axpy(context, 1, x, Owned<double>({1003})), ContractError);
}

}  // namespace
}  // namespace tandem
