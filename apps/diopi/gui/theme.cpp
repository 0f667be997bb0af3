#include "theme.hpp"

#include <array>
#include <cstdint>
#include <filesystem>

namespace diopi {

namespace {

constexpr float kTextPoints = 15, kTitlePoints = 21, kMonoPoints = 14;

ImVec4 rgb(uint32_t hex) {
    return {static_cast<float>(hex >> 16 & 255u) / 255, static_cast<float>(hex >> 8 & 255u) / 255,
            static_cast<float>(hex & 255u) / 255, 1};
}

const Palette kLight = {rgb(0xffffff), rgb(0xf5f6f8), rgb(0x1b1f24), rgb(0x5b6470), rgb(0xd9dde3),
                        rgb(0x1f5fbf), rgb(0x1d7f4f), rgb(0xc22f2f), rgb(0xa86400), rgb(0x7a828e),
                        rgb(0xa86400), rgb(0xe0f3e8), rgb(0xfbe3e3), rgb(0xfbf0d9), rgb(0xeceef1)};
const Palette kDark = {rgb(0x14171b), rgb(0x1d2126), rgb(0xe6e9ed), rgb(0xa0a8b3), rgb(0x343a42),
                       rgb(0x7fb0ff), rgb(0x59c790), rgb(0xff8080), rgb(0xe3ae55), rgb(0x9aa3af),
                       rgb(0xe3ae55), rgb(0x17362a), rgb(0x442020), rgb(0x3d3115), rgb(0x2a2f36)};

ImVec4 faded(ImVec4 colour, float alpha) {
    colour.w = alpha;
    return colour;
}

void set_colours(const Palette& p, ImGuiStyle& style) {
    const auto set = [&](ImGuiCol which, const ImVec4& colour) { style.Colors[which] = colour; };
    set(ImGuiCol_Text, p.text);
    set(ImGuiCol_TextDisabled, p.soft);
    set(ImGuiCol_WindowBg, p.back);
    set(ImGuiCol_PopupBg, p.back);
    set(ImGuiCol_MenuBarBg, p.panel);
    set(ImGuiCol_Border, p.line);
    set(ImGuiCol_FrameBg, p.panel);
    set(ImGuiCol_FrameBgHovered, p.skipped_back);
    set(ImGuiCol_FrameBgActive, p.skipped_back);
    set(ImGuiCol_TableHeaderBg, p.panel);
    set(ImGuiCol_TableBorderLight, p.line);
    set(ImGuiCol_TableBorderStrong, p.line);
    set(ImGuiCol_TableRowBgAlt, faded(p.panel, 0.6f));
    set(ImGuiCol_Tab, p.panel);
    set(ImGuiCol_TabHovered, faded(p.accent, 0.25f));
    set(ImGuiCol_TabActive, faded(p.accent, 0.35f));
    set(ImGuiCol_Header, faded(p.accent, 0.2f));
    set(ImGuiCol_HeaderHovered, faded(p.accent, 0.12f));
    set(ImGuiCol_HeaderActive, faded(p.accent, 0.3f));
    set(ImGuiCol_Button, faded(p.accent, 0.16f));
    set(ImGuiCol_ButtonHovered, faded(p.accent, 0.28f));
    set(ImGuiCol_ButtonActive, faded(p.accent, 0.4f));
    set(ImGuiCol_SliderGrab, p.accent);
    set(ImGuiCol_CheckMark, p.accent);
    set(ImGuiCol_PlotHistogram, p.accent);
}

ImFont* load_font(const char* file, float points) {
    const auto path = std::filesystem::path("/usr/share/fonts/truetype/dejavu") / file;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return nullptr;
    return ImGui::GetIO().Fonts->AddFontFromFileTTF(path.c_str(), points);
}

}  // namespace

const Palette& palette(bool is_dark) { return is_dark ? kDark : kLight; }

ImVec4 ulp_colour(size_t bin) {
    constexpr std::array<uint32_t, 10> kBins = {0x2c7a4b, 0x4f9d62, 0x86b94f, 0xbdbf3c, 0xd9ad35,
                                                0xdd8c2f, 0xd96a30, 0xc94634, 0xa82a3e, 0x6d1f4e};
    return rgb(kBins.at(bin));
}

void apply_theme(bool is_dark, float scale) {
    ImGuiStyle style;
    if (is_dark) {
        ImGui::StyleColorsDark(&style);
    } else {
        ImGui::StyleColorsLight(&style);
    }
    set_colours(palette(is_dark), style);
    style.WindowPadding = {14, 10};
    style.FramePadding = {8, 4};
    style.CellPadding = {8, 3};
    style.ItemSpacing = {8, 6};
    style.FrameRounding = style.GrabRounding = style.TabRounding = 4;
    style.FrameBorderSize = 1;
    style.ScaleAllSizes(scale);
    ImGui::GetStyle() = style;
}

Fonts load_fonts(float scale) {
    Fonts fonts;
    fonts.text = load_font("DejaVuSans.ttf", kTextPoints * scale);
    fonts.title = load_font("DejaVuSans-Bold.ttf", kTitlePoints * scale);
    fonts.mono = load_font("DejaVuSansMono.ttf", kMonoPoints * scale);
    if (ImGui::GetIO().Fonts->Fonts.empty()) ImGui::GetIO().FontGlobalScale = scale;
    return fonts;
}

}  // namespace diopi
