#include "bench/table.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - display_width(text), ' ');
  return right ? space + text : text + space;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_cell(cells[i]);
  }
  return line + "\n";
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) {
    line += ' ';
    for (const char c : cell) {
      if (c == '|') line += '\\';
      line += c;
    }
    line += " |";
  }
  return line + "\n";
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void Table::add(std::vector<std::string> row) {
  require(row.size() == headings_.size(), "{} cells under {} headings", row.size(), headings_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const auto& heading : headings_) widths.push_back(display_width(heading));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  return widths;
}

bool Table::is_numeric(std::size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(), [column](const auto& row) {
    const auto& cell = row[column];
    return cell == "–" || cell.empty() || std::isdigit(static_cast<unsigned char>(cell[0])) != 0;
  });
}

std::string Table::text() const {
  const auto width = widths();
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string result;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) result += "  ";
      result += padded(cells[i], width[i], is_numeric(i));
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return result + "\n";
  };
  std::string result = line(headings_);
  for (const auto& row : rows_) result += line(row);
  return result;
}

std::string Table::markdown() const {
  std::string result = markdown_line(headings_) + "|";
  for (std::size_t i = 0; i < headings_.size(); ++i) result += is_numeric(i) ? "---:|" : "---|";
  result += "\n";
  for (const auto& row : rows_) result += markdown_line(row);
  return result;
}

std::string Table::csv() const {
  std::string result = csv_line(headings_);
  for (const auto& row : rows_) result += csv_line(row);
  return result;
}

}  // namespace tandem::bench
