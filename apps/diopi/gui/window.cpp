#include "window.hpp"

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <fmt/format.h>

#include <cmath>

namespace diopi {

namespace {

constexpr int kWidth = 1280, kHeight = 800;

/// The last error of GLFW, in its words.
std::string glfw_error() {
    const char* text = nullptr;
    return glfwGetError(&text) != GLFW_NO_ERROR && text != nullptr ? text : "no reason is known";
}

}  // namespace

Result<std::unique_ptr<Window>> Window::open(const std::string& title) {
    if (glfwInit() != GLFW_TRUE) {
        return bad_input(fmt::format("no display: set DISPLAY, or use --html FILE ({})", glfw_error()));
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    GLFWwindow* const opened = glfwCreateWindow(kWidth, kHeight, title.c_str(), nullptr, nullptr);
    if (opened == nullptr) {
        const std::string reason = glfw_error();
        glfwTerminate();
        return bad_input(fmt::format("no OpenGL 3 on this display: use --html FILE ({})", reason));
    }
    std::unique_ptr<Window> window(new Window(opened));
    window->start_imgui();
    return window;
}

void Window::start_imgui() {
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    // A key that was pressed and released between two frames counts.
    glfwSetInputMode(window_, GLFW_STICKY_KEYS, GLFW_TRUE);
    ImGui::CreateContext();
    // No file in the user's working folder.
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    ImGui_ImplOpenGL3_Init("#version 130");
    float vertical = 1;
    glfwGetWindowContentScale(window_, &scale_, &vertical);
    fonts_ = load_fonts(scale_);
}

Window::~Window() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(window_);
    glfwTerminate();
}

void Window::ignore_mouse() { ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_NoMouse; }

bool Window::is_closed() const {
    const bool has_control = glfwGetKey(window_, GLFW_KEY_LEFT_CONTROL) == GLFW_PRESS;
    const bool has_q = glfwGetKey(window_, GLFW_KEY_Q) == GLFW_PRESS;
    return glfwWindowShouldClose(window_) != 0 || (has_control && has_q);
}

void Window::wait(double seconds) {
    if (seconds > 0) {
        glfwWaitEventsTimeout(seconds);
    } else {
        glfwPollEvents();
    }
}

void Window::begin_frame() {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
}

void Window::render(const ImVec4& background) {
    ImGui::Render();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window_, &width, &height);
    glViewport(0, 0, width, height);
    glClearColor(background.x, background.y, background.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void Window::show() { glfwSwapBuffers(window_); }

Picture Window::picture() const {
    Picture picture;
    glfwGetFramebufferSize(window_, &picture.width, &picture.height);
    picture.bytes.resize(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, picture.width, picture.height, GL_RGB, GL_UNSIGNED_BYTE, picture.bytes.data());
    return picture;
}

}  // namespace diopi
