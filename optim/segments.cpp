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

std::vector<ops::Segment> segments_by_offset(const ParameterStore& store, double weight_decay,
                                             const LayoutRange& part) {
  std::vector<ops::Segment> segments;
  for (const auto& entry : store.layout().entries()) {
    ops::Segment segment = segment_of(entry, weight_decay);
    const LayoutRange here = LayoutRange{segment.offset, segment.count}.within(part);
    segment.offset = here.offset - part.offset;
    segment.count = here.numel;
    if (here.numel > 0) segments.push_back(segment);
  }
  std::sort(segments.begin(), segments.end(), [](auto& x, auto& y) { return x.offset < y.offset; });
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

ops::ChunkRange chunks_within(const ops::SegmentTable& sorted, const LayoutRange& slice) {
  const auto chunks = sorted.chunks();
  const auto first = std::partition_point(
      chunks.begin(), chunks.end(), [&](auto& chunk) { return chunk.offset + chunk.count <= slice.offset; });
  const auto last =
      std::partition_point(first, chunks.end(), [&](auto& chunk) { return chunk.offset < slice.end(); });
  if (first != last) {
    const auto& back = *std::prev(last);
    require(first->offset >= slice.offset && back.offset + back.count <= slice.end(),
            "elements [{}, {}) cut a parameter in two", slice.offset, slice.end());
  }
  return {sorted, first - chunks.begin(), last - first};
}

}  // namespace tandem
