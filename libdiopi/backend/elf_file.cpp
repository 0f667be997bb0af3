#include "backend/elf_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/input_file.hpp"

namespace diopi {

namespace {

#if defined(__x86_64__)
constexpr GElf_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr GElf_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr GElf_Half kMachine = EM_RISCV;
#else
constexpr GElf_Half kMachine = EM_NONE;
#endif

std::string machine_name(GElf_Half machine, int word_class) {
    constexpr std::pair<GElf_Half, const char*> kNames[] = {
        {EM_386, "x86"},         {EM_X86_64, "x86-64"}, {EM_ARM, "ARM"},
        {EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},  {EM_PPC64, "PowerPC"},
        {EM_S390, "S/390"},      {EM_MIPS, "MIPS"},     {EM_LOONGARCH, "LoongArch"}};
    const auto* found = std::ranges::find(kNames, machine, &std::pair<GElf_Half, const char*>::first);
    const std::string name = found == std::end(kNames) ? fmt::format("machine {}", machine) : found->second;
    return word_class == ELFCLASS32 ? name + ", 32 bits" : name;
}

/// An open file and its ELF descriptor.
class ElfReader {
 public:
    ElfReader() = default;
    ~ElfReader() {
        elf_end(elf_);
        if (fd_ >= 0) ::close(fd_);
    }
    ElfReader(const ElfReader&) = delete;
    ElfReader& operator=(const ElfReader&) = delete;

    Result<ElfFile> read(const std::string& path) {
        file_.path = path;
        Status s = open();
        if (s.ok()) s = read_header();
        if (!s.ok()) return s.error();
        if (!file_.is_ours) return std::move(file_);
        s = read_segments();
        if (s.ok()) s = read_sections();
        if (!s.ok()) return s.error();
        return std::move(file_);
    }

 private:
    Status open() {
        if (Status s = check_input_file(file_.path); !s.ok()) return s;
        struct stat info = {};
        if (::stat(file_.path.c_str(), &info) != 0) return bad_input(file_.path + ": " + std::strerror(errno));
        size_ = static_cast<uint64_t>(info.st_size);
        fd_ = ::open(file_.path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd_ < 0) return bad_input(file_.path + ": " + std::strerror(errno));
        elf_version(EV_CURRENT);
        elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
        if (elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF) return {};
        char magic[4] = {};
        if (pread(fd_, magic, sizeof magic, 0) == sizeof magic && std::memcmp(magic, ELFMAG, SELFMAG) == 0) {
            return cut_short();
        }
        const bool is_archive = elf_ != nullptr && elf_kind(elf_) == ELF_K_AR;
        return bad_input(file_.path + (is_archive ? " is a static library; link it with -shared"
                                                  : " is not an ELF file; name a shared library, such as "
                                                    "build/libdiopi_impl.so"));
    }

    Status read_header() {
        if (gelf_getehdr(elf_, &header_) == nullptr) return cut_short();
        const unsigned char* ident = header_.e_ident;
        file_.machine = machine_name(header_.e_machine, ident[EI_CLASS]);
        const uint16_t one = 1;
        const bool is_little = *reinterpret_cast<const unsigned char*>(&one) == 1;
        file_.is_ours = header_.e_machine == kMachine &&
                        ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                        ident[EI_DATA] == (is_little ? ELFDATA2LSB : ELFDATA2MSB);
        file_.is_shared = header_.e_type == ET_DYN;
        const uint64_t end = header_.e_shoff + uint64_t{header_.e_shnum} * header_.e_shentsize;
        return file_.is_ours && end > size_ ? cut_short() : Status();
    }

    [[nodiscard]] Status cut_short() const {
        return bad_input(
            fmt::format("{} is cut short: it has {} bytes, and its header says more; copy or link it "
                        "again",
                        file_.path, size_));
    }

    Status read_segments() {
        for (int i = 0; i < header_.e_phnum; ++i) {
            GElf_Phdr segment;
            if (gelf_getphdr(elf_, i, &segment) == nullptr) return cut_short();
            if (segment.p_offset + segment.p_filesz > size_) return cut_short();
            if (segment.p_type != PT_INTERP) continue;
            std::string text(segment.p_filesz, '\0');
            const auto read = pread(fd_, text.data(), text.size(), static_cast<off_t>(segment.p_offset));
            if (read == static_cast<ssize_t>(text.size())) file_.interpreter = text.c_str();
        }
        return {};
    }

    Status read_sections() {
        bool any = false;
        size_t names = 0;
        if (elf_getshdrstrndx(elf_, &names) != 0) return cut_short();
        for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
            GElf_Shdr shape;
            if (gelf_getshdr(section, &shape) == nullptr) return cut_short();
            if (text(names, shape.sh_name) == ".diopi_reasons") read_reasons(section);
            if (shape.sh_type != SHT_DYNSYM && shape.sh_type != SHT_DYNAMIC) continue;
            Elf_Data* data = elf_getdata(section, nullptr);
            if (data == nullptr || shape.sh_entsize == 0) return cut_short();
            any = true;
            const int entries = static_cast<int>(shape.sh_size / shape.sh_entsize);
            if (shape.sh_type == SHT_DYNSYM) read_symbols(data, entries, shape.sh_link);
            if (shape.sh_type == SHT_DYNAMIC) read_needed(data, entries, shape.sh_link);
        }
        if (any || !file_.is_shared) return {};
        return bad_input(file_.path +
                         " has no table of dynamic symbols; link it with -shared, and do not strip its "
                         "section headers");
    }

    [[nodiscard]] std::string text(size_t strings, size_t offset) const {
        const char* found = elf_strptr(elf_, strings, offset);
        return found == nullptr ? "" : found;
    }

    void read_reasons(Elf_Scn* section) {
        const Elf_Data* data = elf_getdata(section, nullptr);
        if (data == nullptr || data->d_buf == nullptr) return;
        const std::string_view text(static_cast<const char*>(data->d_buf), data->d_size);
        file_.reasons = text.substr(0, text.find('\0'));
    }

    void read_symbols(Elf_Data* data, int entries, size_t strings) {
        for (int i = 1; i < entries; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(data, i, &symbol) == nullptr) break;
            const int visibility = GELF_ST_VISIBILITY(symbol.st_other), bind = GELF_ST_BIND(symbol.st_info);
            const int type = GELF_ST_TYPE(symbol.st_info);
            if (bind == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL) continue;
            file_.symbols.push_back({text(strings, symbol.st_name), symbol.st_shndx != SHN_UNDEF, bind == STB_WEAK,
                                     type == STT_FUNC || type == STT_GNU_IFUNC});
        }
    }

    void read_needed(Elf_Data* data, int entries, size_t strings) {
        for (int i = 0; i < entries; ++i) {
            GElf_Dyn entry;
            if (gelf_getdyn(data, i, &entry) == nullptr) break;
            if (entry.d_tag == DT_NEEDED) file_.needed.push_back(text(strings, entry.d_un.d_val));
        }
    }

    ElfFile file_;
    uint64_t size_ = 0;
    int fd_ = -1;
    Elf* elf_ = nullptr;
    GElf_Ehdr header_ = {};
};

}  // namespace

Result<ElfFile> read_elf_file(const std::string& path) { return ElfReader().read(path); }

}  // namespace diopi
