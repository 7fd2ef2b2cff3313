#include "optim/segments.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tandem {

namespace {

ops::Segment segment_of(const ParameterLayout::Entry& entry, double weight_decay) {
  const Parameter& p = *entry.parameter;
  if (!std::isfinite(p.lr_scale) || p.lr_scale < 0)
    throw UsageError("parameter '{}' scales the learning rate by {}: give a finite number, 0 or more", p.name,
                     p.lr_scale);
  return {.offset = entry.offset,
          .count = p.numel(),
          .lr_scale = static_cast<float>(p.lr_scale),
          .weight_decay = p.decay ? static_cast<float>(weight_decay) : 0.0f};
}

}  // namespace

std::vector<ops::Segment> segments_by_offset(const ParameterStore& store, double weight_decay) {
  std::vector<ops::Segment> segments;
  for (const auto& entry : store.layout().entries())
    if (entry.parameter->numel() > 0) segments.push_back(segment_of(entry, weight_decay));
  std::sort(segments.begin(), segments.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  return segments;
}

std::vector<ops::Segment> segments_in_definition_order(const ParameterStore& store) {
  std::unordered_map<const Parameter*, const ParameterLayout::Entry*> entry_of;
  for (const auto& entry : store.layout().entries()) entry_of[entry.parameter] = &entry;

  std::vector<ops::Segment> segments;
  for (const Parameter* parameter : store.parameters()) {
    const auto found = entry_of.find(parameter);  // a frozen parameter lies outside the layout
    if (found != entry_of.end() && parameter->numel() > 0) segments.push_back(segment_of(*found->second, 0));
  }
  return segments;
}

ops::ChunkRange chunks_within(const ops::SegmentTable& sorted, std::int64_t offset, std::int64_t numel) {
  const auto chunks = sorted.chunks();
  const auto end = offset + numel;
  const auto first = std::partition_point(chunks.begin(), chunks.end(),
                                          [&](auto& chunk) { return chunk.offset + chunk.count <= offset; });
  const auto last =
      std::partition_point(first, chunks.end(), [&](auto& chunk) { return chunk.offset < end; });
  if (first != last) {
    const auto& back = *std::prev(last);
    require(first->offset >= offset && back.offset + back.count <= end,
            "elements [{}, {}) cut a parameter in two", offset, end);
  }
  return {sorted, first - chunks.begin(), last - first};
}

}  // namespace tandem
