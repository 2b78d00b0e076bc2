// SPDX-License-Identifier: Apache-2.0
// Translates a BANG C source to C++. It changes two constructs that macros cannot express; every
// other character, and every line number, stays as the author wrote it:
//
//   kernel<T><<<dim, type, queue>>>(a, b);    the launch of a kernel
//   __nram__ int8_t buffer[MAX_NRAM_SIZE];    the declaration of on-chip memory
//
// It fails, with the line, for a launch or such a declaration that it does not translate.
//
// Usage: bang_translate source.mlu result.cc
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* kQualifiers[] = {"__nram__", "__wram__", "__mlu_shared__", "__ldram__"};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Replaces comments, literals and preprocessor lines by spaces and keeps the line breaks, so that
// positions in the result are positions in the source. A preprocessor line becomes a ';' and is
// added to `directives`, which maps begin to end.
std::string Mask(const std::string& source, std::map<size_t, size_t>* directives) {
  std::string mask = source;
  const auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, mask.size()); ++i) {
      if (mask[i] != '\n') mask[i] = ' ';
    }
    return to;
  };
  const auto end_of_literal = [&](size_t i) {
    const char quote = source[i];
    for (++i; i < source.size() && source[i] != quote; ++i) {
      if (source[i] == '\\') ++i;
    }
    return i + 1;
  };
  bool line_start = true;
  for (size_t i = 0; i < source.size();) {
    std::string_view rest = source;
    rest.remove_prefix(i);
    if (rest.starts_with("//")) {
      i = blank(i, std::min(source.find('\n', i), source.size()));
    } else if (rest.starts_with("/*")) {
      i = blank(i, std::min(source.find("*/", i + 2), source.size() - 2) + 2);
    } else if (rest[0] == '"' || (rest[0] == '\'' && (i == 0 || !IsWord(source[i - 1])))) {
      i = blank(i, end_of_literal(i));
    } else if (rest[0] == '#' && line_start) {
      size_t end = std::min(source.find('\n', i), source.size());
      while (end < source.size() && source[end - 1] == '\\')
        end = std::min(source.find('\n', end + 1), source.size());
      const size_t hash = i;
      i = blank(i, end);
      mask[hash] = ';';
      (*directives)[hash] = end;
    } else {
      line_start = rest[0] == '\n' || (line_start && IsSpace(rest[0]));
      ++i;
    }
  }
  return mask;
}

class Translator {
 public:
  Translator(std::string path, std::string source)
      : path_(std::move(path)), source_(std::move(source)), mask_(Mask(source_, &directives_)) {}

  std::string Translate() {
    for (size_t at = mask_.find("<<<"); at != std::string::npos; at = mask_.find("<<<", at + 3))
      Launch(at);
    for (const char* qualifier : kQualifiers) Declarations(qualifier);
    for (const auto& [begin, end] : directives_) CheckMacro(begin, end);
    std::sort(edits_.begin(), edits_.end(),
              [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string result = "#line 1 \"" + path_ + "\"\n";
    size_t done = 0;
    for (const Edit& edit : edits_) {
      result.append(source_, done, edit.begin - done).append(edit.text);
      done = edit.end;
    }
    return result.append(source_, done);
  }

 private:
  struct Edit {
    size_t begin, end;
    std::string text;
  };

  [[noreturn]] void Fail(size_t at, const std::string& message) const {
    const auto line =
        1 + std::count(source_.begin(), source_.begin() + static_cast<long>(at), '\n');
    throw std::runtime_error(path_ + ":" + std::to_string(line) + ": error: " + message);
  }

  size_t SkipSpaceBack(size_t end) const {
    while (end > 0 && IsSpace(mask_[end - 1])) --end;
    return end;
  }

  // Returns the position of the bracket that mask_[end - 1] closes.
  size_t MatchBack(size_t end, char open, char close) const {
    for (int depth = 0; end > 0; --end) {
      if (mask_[end - 1] == close) ++depth;
      if (mask_[end - 1] == open && --depth == 0) return end - 1;
    }
    return 0;
  }

  // Returns the start of the name `ns::kernel<T>` that ends before `end`.
  size_t NameStart(size_t end) const {
    end = SkipSpaceBack(end);
    if (end > 0 && mask_[end - 1] == '>') end = SkipSpaceBack(MatchBack(end, '<', '>'));
    while (end > 0 && (IsWord(mask_[end - 1]) || mask_[end - 1] == ':')) --end;
    return end;
  }

  // kernel<T><<<dim, type, queue>>>(a) ->
  // ::bang::Kernel<&kernel<T>>::Launch("kernel<T>", dim, type, queue)(a)
  void Launch(size_t at) {
    const size_t start = NameStart(at);
    if (start == SkipSpaceBack(at)) Fail(at, "a launch needs the name of a kernel before <<<");
    int depth = 0;
    size_t end = at + 3;
    for (; end < mask_.size() && (depth != 0 || mask_.compare(end, 3, ">>>") != 0); ++end) {
      if (mask_[end] == '(' || mask_[end] == '[' || mask_[end] == '{') ++depth;
      if (mask_[end] == ')' || mask_[end] == ']' || mask_[end] == '}') --depth;
    }
    if (end >= mask_.size()) Fail(at, "no >>> closes this launch");
    std::string name;
    for (const char c : mask_.substr(start, at - start)) {
      if (!IsSpace(c)) name += c;
    }
    edits_.push_back({start, start, "::bang::Kernel<&"});
    edits_.push_back({at, at + 3, ">::Launch(\"" + name + "\", "});
    edits_.push_back({end, end + 3, ")"});
  }

  void Declarations(const std::string& qualifier) {
    for (size_t at = mask_.find(qualifier); at != std::string::npos;
         at = mask_.find(qualifier, at + 1)) {
      const size_t after = at + qualifier.size();
      if (after < mask_.size() && IsWord(mask_[after])) continue;
      int depth = 0;
      size_t begin = at;
      for (; begin > 0 && depth >= 0; --begin) {
        const char c = mask_[begin - 1];
        if (c == ';' || c == '{' || c == '}') break;
        depth += (c == ')') - (c == '(');
      }
      if (depth < 0 || IsPointer(mask_.substr(after))) continue;  // depth < 0: a parameter
      while (IsSpace(mask_[begin])) ++begin;
      std::string prefix = mask_.substr(begin, at - begin);
      while (!prefix.empty() && IsSpace(prefix.back())) prefix.pop_back();
      if (!prefix.empty() && prefix != "static")
        Fail(at, "only static may precede " + qualifier + ", got " + prefix);
      Declaration(qualifier, at, after, !prefix.empty());
    }
  }

  // Whether the declaration that starts with `text` is that of a pointer to on-chip memory.
  static bool IsPointer(const std::string& text) {
    const size_t at = text.find_first_of("*[;={");
    return at != std::string::npos && text[at] == '*';
  }

  void CheckMacro(size_t begin, size_t end) const {
    std::map<size_t, size_t> none;
    const std::string text = Mask(source_.substr(begin + 1, end - begin - 1), &none) + ";";
    if (text.compare(text.find_first_not_of(" \t"), 6, "define") != 0) return;
    if (text.find("<<<") != std::string::npos) Fail(begin, "a launch in a macro is not translated");
    for (const std::string qualifier : kQualifiers) {
      const size_t at = text.find(qualifier);
      if (at != std::string::npos && !IsPointer(text.substr(at)))
        Fail(begin, qualifier + " in a macro is not translated");
    }
  }

  // __nram__ T name[n]; -> static thread_local T (&name)[n] = __bang_nram__(name);
  void Declaration(const std::string& qualifier, size_t at, size_t after, bool is_static) {
    const size_t end = mask_.find(';', after);
    if (end == std::string::npos) Fail(at, "no ; ends this declaration");
    int depth = 0;
    for (size_t i = after; i < end; ++i) {
      depth += (mask_[i] == '[') - (mask_[i] == ']');
      if (depth == 0 && std::string_view("=(,{").find(mask_[i]) != std::string_view::npos)
        Fail(at, qualifier + " declares one variable, without an initializer");
    }
    size_t name_end = SkipSpaceBack(end);
    while (name_end > after && mask_[name_end - 1] == ']')
      name_end = SkipSpaceBack(MatchBack(name_end, '[', ']'));
    size_t name = name_end;
    while (name > after && IsWord(mask_[name - 1])) --name;
    const std::string identifier = mask_.substr(name, name_end - name);
    edits_.push_back({at, after, is_static ? "thread_local" : "static thread_local"});
    edits_.push_back({name, name_end, "(&" + identifier + ")"});
    edits_.push_back({end, end, " = __bang_" + qualifier.substr(2) + "(" + identifier + ")"});
  }

  std::map<size_t, size_t> directives_;
  std::string path_, source_, mask_;
  std::vector<Edit> edits_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bang_translate source.mlu result.cc\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string source((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
  try {
    std::ofstream(argv[2], std::ios::binary) << Translator(argv[1], source).Translate();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
