#include "core/ops/embedding.h"

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

template <class T>
class EmbeddingTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(EmbeddingTest, Types);

struct Sizes {
  std::int64_t batch, sequence, width, vocabulary, places;
};
const std::vector<Sizes> kSizes = {{1, 1, 1, 1, 1}, {3, 17, 5, 7, 20}, {2, 127, 130, 11, 127}};

TYPED_TEST(EmbeddingTest, MatchesReference) {
  using T = TypeParam;
  Random& random = this->random_;
  for (const auto& [batch, sequence, width, vocabulary, places] : kSizes)
    for (const Write write : {Write::assign, Write::add})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const auto ids = random.integers({batch, sequence}, static_cast<std::int32_t>(vocabulary));
        const auto table = random.normal<T>({vocabulary, width}),
                   positions = random.normal<T>({places, width});
        const auto dy = random.normal<T>({batch, sequence, width}), y = poisoned<T>({batch, sequence, width});
        const bool add = write == Write::add;
        const auto dtable = add ? random.normal<T>({vocabulary, width}) : poisoned<T>({vocabulary, width});
        const auto dpositions = add ? random.normal<T>({places, width}) : poisoned<T>({places, width});
        Reference expected, expected_table(dtable.values.size()),
            expected_positions(dpositions.values.size());
        if (add) expected_table.assign(dtable.values.begin(), dtable.values.end());
        if (add) expected_positions.assign(dpositions.values.begin(), dpositions.values.end());
        for (std::int64_t row = 0; row < batch * sequence; ++row)
          for (std::int64_t j = 0; j < width; ++j) {
            const std::int64_t id = ids.values[row], t = row % sequence;
            expected.push_back(table[id * width + j] + positions[t * width + j]);
            expected_table[id * width + j] += dy[row * width + j];
            expected_positions[t * width + j] += dy[row * width + j];
          }
        ops::embedding_forward(context, ids, table, positions, y);
        ops::embedding_backward_table(context, ids, dy, dtable, write);
        ops::embedding_backward_positions(context, dy, dpositions, write);
        expect_close(y, expected, random);
        expect_close(dtable, expected_table, random);
        expect_close(dpositions, expected_positions, random);
      }
}

TEST(EmbeddingErrors, IdsAndShapesMustFit) {
  Context context = Context::cpu();
  Owned<std::int32_t> ids({2, 3});
  const Owned<float> table({5, 4}), positions({3, 4}), y({2, 3, 4});
  for (const std::int32_t bad : {-1, 5}) {
    ids[4] = bad;
    EXPECT_THROW(ops::embedding_forward(context, ids, table, positions, y), ContractError);
    EXPECT_THROW(ops::embedding_backward_table(context, ids, y, table, Write::assign), ContractError);
  }
  ids[4] = 0;
  EXPECT_THROW(ops::embedding_forward(context, ids, Owned<float>({5, 3}), positions, y), ContractError);
  EXPECT_THROW(ops::embedding_forward(context, ids, table, Owned<float>({2, 4}), y), ContractError);
  EXPECT_THROW(ops::embedding_forward(context, ids, table, positions, Owned<float>({3, 2, 4})),
               ContractError);
  EXPECT_THROW(ops::embedding_backward_positions(context, y, Owned<float>({2, 4}), Write::assign),
               ContractError);
}

}  // namespace
}  // namespace tandem
