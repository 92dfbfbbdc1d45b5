# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal's screen, as `tmux capture-pane -e` has it, as an SVG: text with its colours, to be seen where no terminal is."""
import html
import re
import unicodedata

CELL = 8.4  #: width of a character, at 14 px
LINE = 18
MARGIN = 12

#: Of a dark terminal: the sixteen that have names.
NAMED = (
    "#1d1f21", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
    "#7f848e", "#ff7b86", "#b5e890", "#ffd58a", "#82c7ff", "#de9af0", "#7fdbe6", "#ffffff",
)  # fmt: skip
DARK, LIGHT = ("#16181d", "#d7dae0"), ("#ffffff", "#24292f")  #: background and text


def colour(number):
    if number < 16:
        return NAMED[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    number -= 16
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6))


class Style:
    def __init__(self, theme):
        self.background, self.foreground = theme
        self.reset()

    def reset(self):
        self.front = self.back = None
        self.bold = self.dim = self.reverse = False

    def take(self, codes):
        """The numbers of one SGR sequence."""
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reverse = False
            elif code in (38, 48):
                assert codes.pop(0) == 5, "only the colours of 256"
                setattr(self, "front" if code == 38 else "back", colour(codes.pop(0)))
            elif code in (39, 49):
                setattr(self, "front" if code == 39 else "back", None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.front = colour(code - 30 if code < 90 else code - 82)
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = colour(code - 40 if code < 100 else code - 92)

    def colours(self):
        front, back = self.front or self.foreground, self.back
        return (back or self.background, front) if self.reverse else (front, back)


def width(character):
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(line, style):
    """(first column, text, front, back, bold, dim) of one line; the style goes on into the next."""
    start = at = 0
    for match in list(re.finditer(r"\x1b\[([\d;]*)m", line)) + [None]:
        text = line[at : match.start() if match else len(line)]
        text = re.sub(r"[\x0e\x0f]|\x1b\([B0]", "", text)
        if text:
            front, back = style.colours()
            yield start, text, front, back, style.bold, style.dim
            start += sum(width(character) for character in text)
        if match:
            style.take(match[1])
            at = match.end()


def picture(screen, columns, title, theme=DARK):
    lines = screen.split("\n")
    wide, high = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" role="img"'
        f' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{theme[0]}"/>',
    ]
    style = Style(theme)
    for number, line in enumerate(lines):
        top = MARGIN + number * LINE
        for start, text, front, back, bold, dim in runs(line, style):
            left, length = MARGIN + start * CELL, sum(width(character) for character in text) * CELL
            if back:
                parts.append(f'<rect x="{left:.1f}" y="{top}" width="{length:.1f}" height="{LINE}" fill="{back}"/>')
            if text.strip():
                weight = ' font-weight="bold"' if bold else ""
                faint = ' opacity="0.65"' if dim else ""
                parts.append(
                    f'<text x="{left:.1f}" y="{top + 14}" textLength="{length:.1f}" xml:space="preserve" fill="{front}"{weight}{faint}>'
                    f"{html.escape(text)}</text>"
                )
    return "\n".join(parts) + "\n</svg>\n"
