#include "core/ops/cuda/algorithm_timer.h"

#include <algorithm>
#include <deque>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_event.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kRounds = 7;          // odd: the median is one of them
constexpr double kTurnUs = 2000;    // a turn of one alternative, in which it runs again and again …
constexpr double kMostRuns = 1000;  // … but no more often than this

using tandem::cuda::EventHandle;

double us_between(const EventHandle& start, const EventHandle& end) {
  float ms = 0;
  TANDEM_CUDA(cudaEventElapsedTime(&ms, start.get(), end.get()));
  return static_cast<double>(ms) * 1e3;
}

/// Times in µs of one run: [round][alternative], each the mean over the `runs` of a turn.
std::vector<std::vector<double>> time_rounds(cudaStream_t stream, int rounds, int runs, std::size_t count,
                                             const std::function<void(std::size_t)>& run) {
  std::deque<EventHandle> marks;
  const auto mark = [&] {
    marks.emplace_back(cudaEventDefault);
    TANDEM_CUDA(cudaEventRecord(marks.back().get(), stream));
  };
  mark();
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < count; ++i) {
      for (int k = 0; k < runs; ++k) run(i);
      mark();
    }
  TANDEM_CUDA(cudaStreamSynchronize(stream));

  std::vector<std::vector<double>> times(rounds, std::vector<double>(count));
  std::size_t turn = 0;
  for (auto& round : times)
    for (double& us : round) {
      us = us_between(marks[turn], marks[turn + 1]) / runs;
      ++turn;
    }
  return times;
}

}  // namespace

std::vector<double> time_alternatives(cudaStream_t stream, std::size_t count,
                                      const std::function<void(std::size_t)>& run) {
  const std::vector<double> once = time_rounds(stream, 1, 1, count, run).front();
  const double shortest = std::max(*std::min_element(once.begin(), once.end()), 1.0);
  const int runs = static_cast<int>(std::clamp(kTurnUs / shortest, 1.0, kMostRuns));

  std::vector<std::vector<double>> times = time_rounds(stream, 1 + kRounds, runs, count, run);
  times.erase(times.begin());  // in which the clock settled
  std::vector<double> medians(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> own;
    for (const auto& round : times) own.push_back(round[i]);
    std::nth_element(own.begin(), own.begin() + kRounds / 2, own.end());
    medians[i] = own[kRounds / 2];
  }
  return medians;
}

}  // namespace tandem::ops::cuda
