// Panels of coloured cells over two common axes, as an SVG picture. Knows nothing of sweeps.
#ifndef BATCHVAR_SIM_REPORT_HEAT_MAP_H_
#define BATCHVAR_SIM_REPORT_HEAT_MAP_H_

#include <cstddef>
#include <string>
#include <vector>

namespace batchvar {

struct HeatCell {
  size_t x = 0;  // index of the tick
  size_t y = 0;
  std::string colour;  // "#rrggbb"
  std::string text;    // shown where it fits
  std::string tip;     // shown by a browser under the pointer
};

struct LegendEntry {
  std::string colour;
  std::string text;
};

struct HeatPanel {
  std::string title;
  std::vector<HeatCell> cells;
  std::vector<LegendEntry> legend;
};

struct HeatMap {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> x_ticks;  // left to right
  std::vector<std::string> y_ticks;  // top to bottom
  std::vector<HeatPanel> panels;     // one below the other
};

std::string HeatMapSvg(const HeatMap& map);

// Colours that people with any kind of colour vision can tell apart. A category beyond the last
// one is grey.
std::string CategoryColour(size_t category);
// From dark blue (0) to yellow (1) with even steps of brightness.
std::string ScaleColour(double share);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPORT_HEAT_MAP_H_
