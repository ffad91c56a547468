#include "sim/report/heat_map.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace batchvar {
namespace {

// Okabe and Ito, 2008, with a lighter green first: that is most often "one pass".
constexpr const char* kCategories[] = {"#b5e3d3", "#e69f00", "#56b4e9", "#cc79a7",
                                       "#0072b2", "#d55e00", "#f0e442"};
constexpr char kOther[] = "#bbbbbb";

// Nine stops of cividis (Nunez, Anderton, Renslow, 2018).
constexpr int kScale[][3] = {{0, 34, 78},     {18, 53, 112},   {59, 73, 108},
                             {87, 93, 109},   {112, 113, 115}, {138, 134, 120},
                             {165, 156, 116}, {195, 179, 105}, {254, 232, 56}};

constexpr char kDark[] = "#1a1a1a";
constexpr int kMargin = 16;
constexpr int kPlotWidth = 880;  // aimed at
constexpr int kMinCellWidth = 8;
constexpr int kMaxCellWidth = 64;
constexpr int kCellHeight = 20;
constexpr int kFont = 12;
constexpr int kSmallFont = 10;
constexpr int kTitleHeight = 34;
constexpr int kPanelTitleHeight = 22;
constexpr int kLegendHeight = 20;
constexpr int kAxisHeight = 40;
constexpr int kPanelGap = 14;

int TextWidth(const std::string& text, int font) {
  return static_cast<int>(text.size()) * font * 6 / 10;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      // Control characters are no XML 1.0, escaped or not.
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// `x2` is twice the x, so that the middle of an odd width is exact.
void AddText(int x2, int y, int font, const char* anchor, const std::string& colour,
             const std::string& text, std::string* svg) {
  absl::StrAppend(svg, "<text x=\"", x2 / 2, x2 % 2 != 0 ? ".5" : "", "\" y=\"", y,
                  "\" font-size=\"", font, "\" text-anchor=\"", anchor, "\" fill=\"", colour, "\">",
                  Escaped(text), "</text>\n");
}

int Brightness(const std::string& colour) {
  int rgb[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    for (size_t digit = 0; digit < 2; ++digit) {
      const char c = colour[1 + 2 * static_cast<size_t>(i) + digit];
      rgb[i] = rgb[i] * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
  }
  return (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
}

class Drawing {
 public:
  explicit Drawing(const HeatMap& map) : map_(map) {
    const int columns = static_cast<int>(map.x_ticks.size());
    cell_width_ = std::clamp(kPlotWidth / std::max(1, columns), kMinCellWidth, kMaxCellWidth);
    int label_width = 0;
    for (const std::string& tick : map.y_ticks) {
      label_width = std::max(label_width, TextWidth(tick, kFont));
    }
    plot_width_ = columns * cell_width_;
    plot_height_ = static_cast<int>(map.y_ticks.size()) * kCellHeight;
    upright_ = TextWidth(map.y_label, kFont) <= plot_height_;
    left_ = kMargin + (upright_ ? kFont + 8 : 0) + label_width + 8;  // the axis' name, its ticks
    width_ = left_ + std::max(plot_width_, TextWidth(map.title, kFont + 3)) + kMargin;
    for (const HeatPanel& panel : map.panels) width_ = std::max(width_, left_ + LegendWidth(panel));
  }

  std::string Svg() {
    int y = kMargin + kTitleHeight;
    std::string body;
    AddText(2 * kMargin, kMargin + kFont + 3, kFont + 3, "start", kDark, map_.title, &body);
    for (const HeatPanel& panel : map_.panels) {
      Panel(panel, y, &body);
      y += TitleHeight() + plot_height_ + kAxisHeight + kLegendHeight + kPanelGap;
    }
    return absl::StrCat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width_, " ", y, "\" width=\"",
        width_, "\" height=\"", y, "\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>",
        Escaped(map_.title), "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        body, "</svg>\n");
  }

 private:
  int TitleHeight() const { return kPanelTitleHeight + (upright_ ? 0 : kFont + 6); }

  static int LegendWidth(const HeatPanel& panel) {
    int width = kMargin;
    for (const LegendEntry& entry : panel.legend) width += 34 + TextWidth(entry.text, kFont);
    return width;
  }

  void Panel(const HeatPanel& panel, int y, std::string* svg) const {
    AddText(2 * left_, y + kFont, kFont, "start", kDark, panel.title, svg);
    const int top = y + TitleHeight();
    for (const HeatCell& cell : panel.cells) Cell(cell, top, svg);
    Axes(top, svg);
    int x = left_;
    const int legend = top + plot_height_ + kAxisHeight;
    for (const LegendEntry& entry : panel.legend) {
      absl::StrAppend(svg, "<rect x=\"", x, "\" y=\"", legend,
                      "\" width=\"14\" height=\"14\" fill=\"", entry.colour,
                      "\" stroke=\"#666666\"/>\n");
      AddText(2 * (x + 20), legend + 11, kFont, "start", kDark, entry.text, svg);
      x += 34 + TextWidth(entry.text, kFont);
    }
  }

  void Cell(const HeatCell& cell, int top, std::string* svg) const {
    const int x = left_ + static_cast<int>(cell.x) * cell_width_;
    const int y = top + static_cast<int>(cell.y) * kCellHeight;
    absl::StrAppend(svg, "<rect x=\"", x, "\" y=\"", y, "\" width=\"", cell_width_, "\" height=\"",
                    kCellHeight, "\" fill=\"", cell.colour, "\" stroke=\"#ffffff\"><title>",
                    Escaped(cell.tip), "</title></rect>\n");
    if (TextWidth(cell.text, kSmallFont) + 2 > cell_width_) return;
    const bool is_dark = Brightness(cell.colour) < 128;
    AddText(2 * x + cell_width_, y + 14, kSmallFont, "middle", is_dark ? "#ffffff" : kDark,
            cell.text, svg);
  }

  void Axes(int top, std::string* svg) const {
    for (size_t i = 0; i < map_.y_ticks.size(); ++i) {
      AddText(2 * (left_ - 6), top + static_cast<int>(i) * kCellHeight + 14, kFont, "end", kDark,
              map_.y_ticks[i], svg);
    }
    int widest = 0;
    for (const std::string& tick : map_.x_ticks) widest = std::max(widest, TextWidth(tick, kFont));
    // Every n-th tick, so that they do not touch.
    const size_t every = static_cast<size_t>((widest + 6 + cell_width_ - 1) / cell_width_);
    for (size_t i = 0; i < map_.x_ticks.size(); i += std::max<size_t>(1, every)) {
      const int x2 = 2 * left_ + (2 * static_cast<int>(i) + 1) * cell_width_;
      AddText(x2, top + plot_height_ + 14, kFont, "middle", kDark, map_.x_ticks[i], svg);
    }
    AddText(2 * left_ + plot_width_, top + plot_height_ + 30, kFont, "middle", kDark, map_.x_label,
            svg);
    if (!upright_) {
      AddText(2 * kMargin, top - 7, kFont, "start", kDark, map_.y_label, svg);
      return;
    }
    const int x = kMargin + kFont;
    const int y = top + plot_height_ / 2;
    absl::StrAppend(svg, "<text x=\"", x, "\" y=\"", y, "\" font-size=\"", kFont,
                    "\" text-anchor=\"middle\" transform=\"rotate(-90 ", x, " ", y, ")\" fill=\"",
                    kDark, "\">", Escaped(map_.y_label), "</text>\n");
  }

  const HeatMap& map_;
  int cell_width_ = 0;
  int left_ = 0;
  int plot_width_ = 0;
  int plot_height_ = 0;
  int width_ = 0;
  bool upright_ = true;  // the y axis' name runs up beside it; else it stands above
};

}  // namespace

std::string HeatMapSvg(const HeatMap& map) { return Drawing(map).Svg(); }

std::string CategoryColour(size_t category) {
  return category < std::size(kCategories) ? kCategories[category] : kOther;
}

std::string ScaleColour(double share) {
  constexpr int kLast = static_cast<int>(std::size(kScale)) - 1;
  const double at = std::clamp(share, 0.0, 1.0) * kLast;
  const int stop = std::min(static_cast<int>(at), kLast - 1);
  const double rest = at - stop;
  std::array<int, 3> rgb;
  for (size_t i = 0; i < rgb.size(); ++i) {
    rgb[i] =
        static_cast<int>(kScale[stop][i] + rest * (kScale[stop + 1][i] - kScale[stop][i]) + 0.5);
  }
  return absl::StrFormat("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

}  // namespace batchvar
