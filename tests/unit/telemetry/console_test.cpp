#include "core/telemetry/console.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace tandem {
namespace {

Progress sample() {
  return {.done = 10,
          .total = 300,
          .loss = 3.21449,
          .lr = 1e-3,
          .step_ms = 71.23,
          .per_second = 14'412,
          .unit = "tok",
          .exposed_share = 0.0443,
          .eta_s = 21};
}

std::string line_of(const Progress& progress) {
  fmt::memory_buffer line;
  append_progress(progress, line);
  return fmt::to_string(line);
}

std::string bar_of(const Progress& progress, const ConsoleStyle& style) {
  fmt::memory_buffer line;
  append_progress_bar(progress, style, line);
  return fmt::to_string(line);
}

/// What a console prints.
class Output {
 public:
  Output() : file_(open_memstream(&text_, &size_)) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

StepRecord record(std::int64_t step) {
  StepRecord r;
  r.step = step;
  r.step_ms = 50;
  r.samples = 8;
  r.exposed_comm_ms = 5;
  r.loss = 2.5;
  r.lr = 0.25;
  return r;
}

TEST(Progress, IsOneAlignedLine) {
  EXPECT_EQ(line_of(sample()),
            "step  10/300  loss 3.2145  lr 1.00e-03  71.2 ms  14.41 K tok/s  exposed 4.4%  ETA 21 s");
  Progress of_a_gpu = sample();
  of_a_gpu.mfu = 0.4321;
  EXPECT_EQ(
      line_of(of_a_gpu),
      "step  10/300  loss 3.2145  lr 1.00e-03  71.2 ms  14.41 K tok/s  exposed 4.4%  MFU 43.2%  ETA 21 s");
  Progress bare;
  bare.done = 1;
  bare.total = 3;
  EXPECT_EQ(line_of(bare), "step 1/3  0.0 ms  0 samples/s  ETA 0.00 s") << "what is unknown is left out";
}

TEST(Progress, BarFillsWhatTheLineLeaves) {
  ConsoleStyle style{.terminal = true, .width = 120};
  EXPECT_EQ(bar_of(sample(), style), "#............................. " + line_of(sample()));
  Progress half = sample();
  half.done = 150;
  style.utf8 = true;
  style.colour = true;
  style.width = 98;
  EXPECT_EQ(bar_of(half, style), "\x1b[36m█████░░░░░\x1b[0m " + line_of(half));
}

TEST(Progress, NarrowTerminalsLoseTheLeastImportantFirst) {
  const ConsoleStyle wide{.width = 90}, narrow{.width = 60}, tiny{.width = 35}, absurd{.width = 12},
      none{.width = 0};
  EXPECT_EQ(bar_of(sample(), wide),
            "............... step  10/300  loss 3.2145  71.2 ms  14.41 K tok/s  exposed 4.4%  ETA 21 s");
  EXPECT_EQ(bar_of(sample(), narrow), "......... step  10/300  loss 3.2145  71.2 ms  14.41 K tok/s");
  EXPECT_EQ(bar_of(sample(), tiny), "........ step  10/300  loss 3.2145");
  EXPECT_EQ(bar_of(sample(), absurd), "step  10/30");
  ConsoleStyle unknown = none;
  EXPECT_LE(bar_of(sample(), unknown).size(), 1u);
  for (int width = 10; width < 130; ++width)
    EXPECT_LT(bar_of(sample(), {.width = width}).size(), static_cast<std::size_t>(width));
}

TEST(Console, PrintsPlainLinesIntoAPipe) {
  const Output out;
  {
    Console console(out.file(), {}, {.steps = 25, .ranks = 2, .log_every = 10});
    for (int k = 0; k < 12; ++k) console.step(record(k));
    console.print("evaluation: loss 2");
    for (int k = 12; k < 25; ++k) console.step(record(k));
  }
  EXPECT_EQ(out.text(),
            "step 10/25  loss 2.5000  lr 2.50e-01  50.0 ms  320 samples/s  exposed 10.0%  ETA 0.75 s\n"
            "evaluation: loss 2\n"
            "step 20/25  loss 2.5000  lr 2.50e-01  50.0 ms  320 samples/s  exposed 10.0%  ETA 0.25 s\n");
}

TEST(Console, ALineIsTheMeanSinceTheLineBefore) {
  const Output out;
  Console console(out.file(), {}, {.steps = 4, .ranks = 1, .log_every = 2});
  for (int k = 0; k < 4; ++k) {
    StepRecord r = record(k);
    r.step_ms = 10.0 * (k + 1);
    r.tokens = 100 * (k + 1);
    console.step(r);
  }
  EXPECT_EQ(out.text(),
            "step 2/4  loss 2.5000  lr 2.50e-01  15.0 ms  10 K tok/s  exposed 33.3%  ETA 0.03 s\n"
            "step 4/4  loss 2.5000  lr 2.50e-01  35.0 ms  10 K tok/s  exposed 14.3%  ETA 0.00 s\n");
}

TEST(Console, RedrawsABarInPlaceAtMostTenTimesASecond) {
  const Output out;
  {
    Console console(out.file(), {.terminal = true, .width = 100},
                    {.steps = 1000, .ranks = 1, .log_every = 10});
    for (int k = 0; k < 500; ++k) console.step(record(k));
    console.print("a message\nof two lines\n");
    console.step(record(999));
  }
  const std::string text = out.text();
  EXPECT_LE(std::count(text.begin(), text.end(), '\r'), 5) << text;
  EXPECT_EQ(text.rfind("\r", 0), 0u);
  EXPECT_NE(text.find("\r\x1b[Ka message\nof two lines\n"), std::string::npos)
      << "the bar makes way: " << text;
  EXPECT_NE(text.find("step 1000/1000"), std::string::npos) << "the last step is always shown";
  EXPECT_EQ(text.back(), '\n');
}

TEST(Console, IsSilentWithoutAStream) {
  Console console(nullptr, {}, {.steps = 10, .log_every = 1});
  console.step(record(0));
  console.print("x");
}

TEST(ConsoleStyle, APipeHasNeitherBarNorColour) {
  const Output out;
  std::FILE* pipe = std::tmpfile();
  const ConsoleStyle style = ConsoleStyle::of(pipe);
  std::fclose(pipe);
  EXPECT_FALSE(style.terminal);
  EXPECT_FALSE(style.colour);
}

}  // namespace
}  // namespace tandem
