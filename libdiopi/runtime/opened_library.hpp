/// Shared libraries that the program can do without: opened at their first use, their functions typed by their headers.
#pragma once

#include <string>

namespace diopi {

/// Opens a library that then stays open. Null where it cannot be opened, with the loader's reason in `why`.
[[nodiscard]] void* open_library(const char* soname, std::string& why);
/// Null where the library has no such function.
[[nodiscard]] void* find_function(void* library, const char* name);

/// Fills a table of functions. Keeps the first name that is missing.
class FunctionFinder {
 public:
    explicit FunctionFinder(void* library) : library_(library) {}

    template <class Function>
    void find(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(find_function(library_, name));
        if (function == nullptr && missing_ == nullptr) missing_ = name;
    }
    [[nodiscard]] const char* missing() const { return missing_; }

 private:
    void* library_;
    const char* missing_ = nullptr;
};

/// A table of functions that are found once for the process. `Table` has a default constructor and `find_all`.
template <class Table>
struct OpenedLibrary {
    Table functions;
    bool is_usable = false;
    std::string why;  ///< why the table is not complete

    explicit OpenedLibrary(const char* soname) {
        void* library = open_library(soname, why);
        if (library == nullptr) return;
        FunctionFinder finder(library);
        functions.find_all(finder);
        is_usable = finder.missing() == nullptr;
        if (!is_usable) why = std::string("it has no function ") + finder.missing();
    }
};

}  // namespace diopi
