#include "core/telemetry/console.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/text.h"

namespace tandem {

namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(variable)) continue;  // the first that is set counts
    const std::string_view value = std::getenv(variable);
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

int terminal_width(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// The parts of a line, the least important last: `parts` says how many of them there is room for.
constexpr int kParts = 6;

void append_parts(const Progress& p, int parts, fmt::memory_buffer& line) {
  const auto out = std::back_inserter(line);
  const auto digits = static_cast<int>(fmt::formatted_size("{}", p.total));
  fmt::format_to(out, "step {:>{}}/{}", p.done, digits, p.total);
  if (p.loss) fmt::format_to(out, "  loss {:.4f}", *p.loss);
  if (parts >= 6 && p.lr) fmt::format_to(out, "  lr {:.2e}", *p.lr);
  if (parts >= 1) fmt::format_to(out, "  {:.1f} ms", p.step_ms);
  if (parts >= 2) fmt::format_to(out, "  {} {}/s", human_count(p.per_second), p.unit);
  if (parts >= 4 && p.exposed_share) fmt::format_to(out, "  exposed {:.1f}%", 100 * *p.exposed_share);
  if (parts >= 5 && p.mfu) fmt::format_to(out, "  MFU {:.1f}%", 100 * *p.mfu);
  if (parts >= 3) fmt::format_to(out, "  ETA {}", human_duration(p.eta_s));
}

void append_bar(const Progress& p, int width, const ConsoleStyle& style, fmt::memory_buffer& line) {
  const auto out = std::back_inserter(line);
  const double share = p.total > 0 ? static_cast<double>(p.done) / static_cast<double>(p.total) : 0;
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  if (style.colour) fmt::format_to(out, "\x1b[36m");
  for (int i = 0; i < width; ++i) {
    const std::string_view cell = i < full ? (style.utf8 ? "█" : "#") : (style.utf8 ? "░" : ".");
    line.append(cell.data(), cell.data() + cell.size());
  }
  if (style.colour) fmt::format_to(out, "\x1b[0m");
}

/// mpirun gives its ranks a terminal of its own making and passes on what they write; what a person sees
/// depends on where mpirun itself writes. True where that cannot be told.
bool launcher_writes_to_terminal() {
  if (!std::getenv("OMPI_COMM_WORLD_SIZE")) return true;
  std::error_code error;
  const auto target = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/1", getppid()), error);
  const std::string path = target.string();
  return error || path.starts_with("/dev/pts/") || path.starts_with("/dev/tty") || path == "/dev/console";
}

}  // namespace

ConsoleStyle ConsoleStyle::of(std::FILE* out) {
  ConsoleStyle style;
  const char* terminal_kind = std::getenv("TERM");
  style.terminal = isatty(fileno(out)) && terminal_kind && std::string_view(terminal_kind) != "dumb" &&
                   launcher_writes_to_terminal();
  style.colour = style.terminal && !is_set("NO_COLOR");
  style.utf8 = locale_is_utf8();
  return style;
}

void append_progress(const Progress& progress, fmt::memory_buffer& line) {
  append_parts(progress, kParts, line);
}

void append_progress_bar(const Progress& progress, const ConsoleStyle& style, fmt::memory_buffer& line) {
  constexpr int kShortest = 8, kLongest = 30;  // columns of the bar
  const int room = style.width - 1;            // the last column stays free: some terminals wrap there
  fmt::memory_buffer text;
  for (int parts = kParts; parts >= 0; --parts) {
    text.clear();
    append_parts(progress, parts, text);
    const int left = room - static_cast<int>(text.size()) - 1;
    if (left < kShortest) continue;
    append_bar(progress, std::min(left, kLongest), style, line);
    line.push_back(' ');
    line.append(text.data(), text.data() + text.size());
    return;
  }
  line.append(text.data(), text.data() + std::min<std::size_t>(text.size(), std::max(room, 0)));
}

Console::Console(std::FILE* out, const ConsoleStyle& style, const Run& run)
    : out_(out), style_(style), run_(run) {}

Console::~Console() {
  if (!bar_shown_) return;
  std::fputc('\n', out_);
  std::fflush(out_);
}

void Console::Recent::add(const StepRecord& record, double keep) {
  steps = keep * steps + 1;
  ms = keep * ms + record.step_ms;
  samples = keep * samples + static_cast<double>(record.samples);
  tokens = keep * tokens + static_cast<double>(record.tokens);
  measured_ms *= keep;
  exposed_ms *= keep;
  if (!record.exposed_comm_ms) return;
  measured_ms += record.step_ms;
  exposed_ms += *record.exposed_comm_ms;
}

void Console::step(const StepRecord& record) {
  if (!out_) return;
  // A bar shows a sliding mean, a line the mean since the line before.
  recent_.add(record, style_.terminal ? 0.9 : 1.0);
  const std::int64_t done = record.step + 1;
  if (style_.terminal) {
    const auto now = Clock::now();
    if (now - last_draw_ < std::chrono::milliseconds(100) && done != run_.steps) return;
    last_draw_ = now;
    draw(record);
  } else if (done % run_.log_every == 0) {
    fmt::memory_buffer line;
    append_progress(progress(record), line);
    line.push_back('\n');
    write(line);
    recent_ = {};
  }
}

void Console::print(std::string_view text) {
  if (!out_) return;
  erase();
  fmt::memory_buffer lines;
  lines.append(text.data(), text.data() + text.size());
  if (text.empty() || text.back() != '\n') lines.push_back('\n');
  write(lines);
}

Progress Console::progress(const StepRecord& record) const {
  const bool tokens = recent_.tokens > 0;
  const double step_ms = recent_.ms / recent_.steps;
  const double own_per_second = (tokens ? recent_.tokens : recent_.samples) / recent_.ms * 1e3;
  std::optional<double> mfu;
  if (run_.peak_seconds_per_unit) mfu = own_per_second * *run_.peak_seconds_per_unit;
  return {.done = record.step + 1,
          .total = run_.steps,
          .loss = record.loss,
          .lr = record.lr,
          .step_ms = step_ms,
          .per_second = run_.ranks * own_per_second,
          .unit = tokens ? "tok" : "samples",
          .exposed_share = recent_.measured_ms > 0 ? std::optional(recent_.exposed_ms / recent_.measured_ms)
                                                   : std::nullopt,
          .mfu = mfu,
          .eta_s = static_cast<double>(run_.steps - record.step - 1) * step_ms * 1e-3};
}

void Console::draw(const StepRecord& record) {
  ConsoleStyle style = style_;
  if (style.width == 0) style.width = terminal_width(out_);
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "\r");
  append_progress_bar(progress(record), style, line);
  fmt::format_to(std::back_inserter(line), "\x1b[K");  // clears what a longer line left behind
  write(line);
  bar_shown_ = true;
}

void Console::erase() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", out_);
  bar_shown_ = false;
}

void Console::write(const fmt::memory_buffer& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

}  // namespace tandem
