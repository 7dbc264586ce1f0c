#!/usr/bin/env python3
"""Records commands at a terminal, and draws a recording as an animated SVG.

terminal.py record CAST COLUMNSxLINES COMMAND...   runs the commands, one after another, and writes an asciinema v2 file
terminal.py draw CAST SVG                          draws it; needs pyte, a terminal emulator

The commands and their output are real. Only the typing is made up, and long pauses are shortened in the picture.
"""

import codecs
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time
from xml.sax.saxutils import escape

PROMPT = "\x1b[1;34m$\x1b[0m "
KEY, READ = 0.03, 0.6  # seconds for a key, and to read what a command has said
LONGEST_PAUSE, LAST_PAUSE, FRAME = 1.2, 4.0, 0.1  # seconds in the picture
WIDTH, HEIGHT, MARGIN = 8.4, 18, 12  # of a character, and around the screen
COLOURS = {
    "default": "#d6d9de", "black": "#3b4048", "red": "#ff7b72", "green": "#7ee787", "brown": "#f2cc60", "blue": "#79c0ff",
    "magenta": "#d2a8ff", "cyan": "#76e3ea", "white": "#ffffff",
}
BACKGROUND = "#161b22"


def record(path, size, commands):
    columns, lines = (int(part) for part in size.split("x"))
    begin, events = time.monotonic(), []
    shift = 0.0

    def say(text):
        events.append([round(time.monotonic() - begin + shift, 3), "o", text])

    for command in commands:
        say(PROMPT)
        for character in command:
            shift += KEY
            say(character)
        shift += READ / 2
        say("\r\n")
        run(command, columns, lines, say)
        shift += READ
    say(PROMPT)
    header = {"version": 2, "width": columns, "height": lines, "env": {"TERM": "xterm-256color"}}
    with open(path, "w", encoding="utf-8") as cast:
        for value in [header, *events]:
            cast.write(json.dumps(value, ensure_ascii=False) + "\n")


def run(command, columns, lines, say):
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("NO_COLOR", None)
        os.execvp("bash", ["bash", "-c", command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        select.select([terminal], [], [])
        try:
            output = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the other end is closed.
            break
        if not output:
            break
        say(decoder.decode(output))
    os.waitpid(process, 0)
    os.close(terminal)


def frames(path):
    """The screens of a recording, each with the time for which it is shown."""
    import pyte

    with open(path, encoding="utf-8") as cast:
        header, *events = (json.loads(line) for line in cast)
    screen = pyte.Screen(header["width"], header["height"])
    stream = pyte.Stream(screen)
    shown, last = [], None
    for number, (at, _, text) in enumerate(events):
        stream.feed(text)
        after = events[number + 1][0] - at if number + 1 < len(events) else LAST_PAUSE
        pause = min(after, LONGEST_PAUSE) if number + 1 < len(events) else LAST_PAUSE
        rows = tuple(row(screen, line) for line in range(header["height"]))
        if shown and (rows == last or shown[-1][1] < FRAME):
            shown[-1] = (rows, shown[-1][1] + pause)
        else:
            shown.append((rows, pause))
        last = rows
    return header, shown


def row(screen, line):
    """A line of the screen as runs of the same style: column, text, colour, whether it is bold."""
    runs = []
    for column in range(screen.columns):
        cell = screen.buffer[line][column]
        style = (cell.fg, cell.bold)
        if runs and runs[-1][2:] == style and runs[-1][0] + len(runs[-1][1]) == column:
            runs[-1] = (runs[-1][0], runs[-1][1] + cell.data, *style)
        else:
            runs.append((column, cell.data, *style))
    shown = ((column + len(text) - len(text.lstrip()), text.strip(), *style) for column, text, *style in runs)
    return tuple(run for run in shown if run[1])


def draw(path, target):
    header, shown = frames(path)
    width = header["width"] * WIDTH + 2 * MARGIN
    height = header["height"] * HEIGHT + 2 * MARGIN
    total = sum(seconds for _, seconds in shown)
    ids, symbols, screens, steps, at = {}, [], [], [], 0.0
    for number, (rows, seconds) in enumerate(shown):
        top = number * height
        steps.append(f"{at / total * 100:.3f}%{{transform:translateY({-top:g}px)}}")
        at += seconds
        for line, runs in enumerate(rows):
            if not runs:
                continue
            if runs not in ids:
                ids[runs] = f"r{len(ids)}"
                symbols.append(f'<g id="{ids[runs]}">{"".join(text(*run) for run in runs)}</g>')
            y = top + MARGIN + (line + 0.75) * HEIGHT
            screens.append(f'<use href="#{ids[runs]}" x="{MARGIN}" y="{y:g}"/>')
    # Where nothing moves, the screen with the most of the bars is shown.
    bars = [sum(run[1].count("█") for runs in rows for run in runs) for rows, _ in shown]
    still = bars.index(max(bars)) * height
    style = (
        f"text{{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}}"
        f"#film{{animation:play {total:.2f}s step-end infinite}}"
        f"@keyframes play{{{''.join(steps)}}}"
        "@media (prefers-reduced-motion:reduce){#film{animation:none}}"
    )
    with open(target, "w", encoding="utf-8") as svg:
        svg.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">\n'
            f"<style>{style}</style>\n<defs>\n" + "\n".join(symbols) + "\n</defs>\n"
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n'
            f'<g id="film" transform="translate(0 {-still:g})">\n' + "\n".join(screens) + "\n</g>\n</svg>\n"
        )


def text(column, characters, colour, bold):
    fill = COLOURS.get(colour, COLOURS["default"])
    weight = ' font-weight="700"' if bold else ""
    length = len(characters) * WIDTH
    return (
        f'<text x="{column * WIDTH:g}" textLength="{length:g}" lengthAdjust="spacingAndGlyphs" fill="{fill}"{weight}>'
        f"{escape(characters)}</text>"
    )


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    if action == "record":
        record(arguments[0], arguments[1], arguments[2:])
    elif action == "draw":
        draw(*arguments)
    else:
        sys.exit(__doc__)
