#pragma once

#include <string>
#include <vector>

namespace tandem::bench {

/// Rows of text under headings, written in three ways. Every row has as many cells as there are headings.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> row);

  std::string text() const;      ///< aligned columns, numbers to the right, for a terminal
  std::string markdown() const;  ///< GitHub's tables
  std::string csv() const;       ///< RFC 4180

 private:
  std::vector<std::size_t> widths() const;
  bool is_numeric(std::size_t column) const;

  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

/// Characters on the screen of UTF-8 text (without wide or combining ones).
std::size_t display_width(const std::string& text);

}  // namespace tandem::bench
