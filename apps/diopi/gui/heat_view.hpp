/// The heat map of a replay bundle, as it is shown.
#pragma once

#include <string>
#include <vector>

#include "gui/heat_map.hpp"

namespace diopi {

/// A picture in the memory of OpenGL.
class Texture {
 public:
    Texture() = default;
    ~Texture();
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;

    /// Rows of points with red, green, blue and alpha, in the order of their bytes.
    void upload(int64_t rows, int64_t columns, const std::vector<uint32_t>& points);
    [[nodiscard]] unsigned number() const { return number_; }

 private:
    unsigned number_ = 0;
};

struct HeatView {
    std::string path;     ///< in the text field
    std::string opened;   ///< the bundle that is shown
    std::string problem;  ///< why a bundle cannot be shown
    std::string title;    ///< function, step and verdict of the bundle
    std::vector<BundleTensor> tensors;
    size_t tensor = 0;
    HeatSide side = HeatSide::kDifference;
    HeatSlice slice;
    HeatMap map;
    Texture texture;

    void open(const std::string& bundle);
    void choose_tensor(size_t number);
    /// Takes the side if the tensor has it, else one that it has, and draws the map anew.
    void choose_side(HeatSide wanted);
    /// Draws the map of the present choice.
    void update();
};

/// The colour of an element, as ImGui packs it.
[[nodiscard]] uint32_t heat_colour(double value, const HeatMap& map, HeatSide side);

}  // namespace diopi
