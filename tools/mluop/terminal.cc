// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace mluop::tool {
namespace {

int reserved_stdout = STDOUT_FILENO;

bool ShowsEscapes(int file) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  const bool disabled = (no_color != nullptr && *no_color != '\0') ||
                        (term != nullptr && std::string_view(term) == "dumb");
  return !disabled && isatty(file) != 0;
}

}  // namespace

std::string Coloured(Colour colour, const std::string& text) {
  if (!ShowsEscapes(STDOUT_FILENO)) return text;
  return "\033[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\033[0m";
}

void SetProgressLine(const std::string& text) {
  if (!ShowsEscapes(STDERR_FILENO)) return;
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const int width = known ? size.ws_col - 1 : 79;  // a full line would wrap on some terminals
  std::fprintf(stderr, "\r\033[K%.*s", width, text.c_str());
}

void ReserveStdout() {
  std::fflush(stdout);
  const int copy = dup(STDOUT_FILENO);
  if (copy < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
  reserved_stdout = copy;
}

bool WriteToStdout(const std::string& text) {
  std::fflush(stdout);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(reserved_stdout, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace mluop::tool
