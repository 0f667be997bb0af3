/// The contents of an ELF file, read without loading it: none of its code runs.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// A dynamic symbol that this file defines, or needs from others.
struct ElfSymbol {
    std::string name;
    bool is_defined = false;
    bool is_weak = false;
    bool is_function = false;
};

struct ElfFile {
    std::string path;
    std::string machine;      ///< "x86-64"
    bool is_ours = false;     ///< machine, word size and byte order are those of this program
    bool is_shared = false;   ///< a shared library, or a program that can be placed anywhere
    std::string interpreter;  ///< the dynamic linker that a program asks for; empty for a library
    std::vector<std::string> needed;
    std::vector<ElfSymbol> symbols;
    std::string reasons;  ///< the text of the section .diopi_reasons
};

/// Reads the file; if it is for another machine, only its header. Bad input if it is no ELF file, or is truncated.
[[nodiscard]] Result<ElfFile> read_elf_file(const std::string& path);

}  // namespace diopi
