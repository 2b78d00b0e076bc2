# SPDX-License-Identifier: Apache-2.0
"""Colours and progress lines for scripts."""

import os


class Terminal:
    """Writes escape sequences only to a terminal that supports them, and only without NO_COLOR."""

    def __init__(self, stream):
        self.stream = stream
        dumb = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
        self.rich = stream.isatty() and not dumb

    def paint(self, colour: int, text: str) -> str:
        return f"\033[{colour}m{text}\033[0m" if self.rich else text

    def show(self, text: str) -> None:
        """Replaces the progress line."""
        if self.rich:
            width = self._columns() - 1  # a full line would wrap on some terminals
            print(f"\r\033[K{text[:width]}", end="", file=self.stream, flush=True)

    def _columns(self) -> int:
        """Returns the width of the stream's terminal; stdout may be a pipe."""
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        except OSError:
            return 80

    def end(self, text: str) -> None:
        """Replaces the progress line by a line that stays."""
        self.show("")
        print(text, file=self.stream, flush=True)
