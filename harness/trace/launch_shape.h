#pragma once
// The shape of a launch as one text: "grid 64x1x1 block 128x1x1".

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redraft::harness {

inline constexpr std::string_view kShapeGrid = "grid ", kShapeBlock = " block ";

inline std::string launchShape(const std::array<std::int32_t, 3>& grid, const std::array<std::int32_t, 3>& block) {
  const auto dimensions = [](const std::array<std::int32_t, 3>& of) {
    return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" + std::to_string(of[2]);
  };
  return std::string(kShapeGrid) + dimensions(grid) + std::string(kShapeBlock) + dimensions(block);
}

/// From JSON's lists, "[64, 1, 1]". What is no number in them is left out.
inline std::string shapeOfLists(std::string_view grid, std::string_view block) {
  std::string text(kShapeGrid);
  const auto append = [&text](std::string_view list) {
    for (const char c : list)
      if ((c >= '0' && c <= '9') || c == ',') text += c == ',' ? 'x' : c;
  };
  append(grid);
  text += kShapeBlock;
  append(block);
  return text;
}

/// As JSON's lists; empty when the text is no shape.
inline std::pair<std::string, std::string> listsOfShape(std::string_view shape) {
  const std::size_t at = shape.find(kShapeBlock);
  if (!shape.starts_with(kShapeGrid) || at == std::string_view::npos) return {};
  const auto list = [](std::string_view dimensions) {
    std::string text = "[";
    for (const char c : dimensions) text += c == 'x' ? ", " : std::string(1, c);
    return text + "]";
  };
  return {list(shape.substr(kShapeGrid.size(), at - kShapeGrid.size())), list(shape.substr(at + kShapeBlock.size()))};
}

}  // namespace redraft::harness
