// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace emulation {
namespace {

std::string Demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = text == nullptr ? name : text;
  std::free(text);
  // "void name(parameters)"
  for (const std::string_view left_out : {"void ", "(anonymous namespace)::"}) {
    for (size_t at; (at = result.find(left_out)) != std::string::npos;)
      result.erase(at, left_out.size());
  }
  return result.substr(0, result.find('('));
}

}  // namespace

// Kernels have internal linkage, so dladdr does not know their names.
std::string NameOfKernel(const void* kernel) {
  Dl_info library = {};
  if (dladdr(kernel, &library) == 0) return "kernel";
  const auto offset = static_cast<uint64_t>(static_cast<const char*>(kernel) -
                                            static_cast<const char*>(library.dli_fbase));
  std::ifstream stream(library.dli_fname, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), {}};
  if (file.size() >= sizeof(Elf64_Ehdr)) {
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(file.data());
    const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header.e_shoff);
    for (int i = 0; i < header.e_shnum; ++i) {
      if (sections[i].sh_type != SHT_SYMTAB) continue;
      const auto* const symbols =
          reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
      const char* const names = file.data() + sections[sections[i].sh_link].sh_offset;
      for (uint64_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k) {
        if (symbols[k].st_value == offset && ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC)
          return Demangled(names + symbols[k].st_name);
      }
    }
  }
  char text[40];
  snprintf(text, sizeof(text), "kernel at %#llx", static_cast<unsigned long long>(offset));
  return text;
}

}  // namespace emulation
