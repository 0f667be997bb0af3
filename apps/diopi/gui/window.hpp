/// A window of the desktop with OpenGL and ImGui.
#pragma once

#include <memory>
#include <string>

#include "core/status.hpp"
#include "png_file.hpp"
#include "theme.hpp"

struct GLFWwindow;

namespace diopi {

/// One at a time.
class Window {
 public:
    /// Bad input without a display or OpenGL 3.
    [[nodiscard]] static Result<std::unique_ptr<Window>> open(const std::string& title);
    /// Nothing is shown of the mouse, wherever it is.
    void ignore_mouse();
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    /// Whether the user has closed it, by its button or by Ctrl+Q.
    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] const Fonts& fonts() const { return fonts_; }
    [[nodiscard]] float scale() const { return scale_; }

    /// Waits at most that long for the mouse or the keyboard.
    void wait(double seconds);
    void begin_frame();
    void render(const ImVec4& background);
    /// The rendered frame, before show().
    [[nodiscard]] Picture picture() const;
    void show();

 private:
    explicit Window(GLFWwindow* window) : window_(window) {}
    void start_imgui();

    GLFWwindow* window_;
    float scale_ = 1;
    Fonts fonts_;
};

}  // namespace diopi
