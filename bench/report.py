"""The table of a run: text, bench/REPORT.md and a chart drawn by hand in SVG."""

import datetime
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from rows import judge
from servers import HERE, MYRIAD, SEARCH_PATH, myriad_binary, Unavailable

COLUMNS = ["myriad", "myriad-before", "myriad-bare", "myriad-bare-before", "myriad-headers", "myriad-logged", "nginx-recipe", "nginx-best", "varnish", "floor"]
COLOURS = {"myriad": "#0b7a75", "myriad-before": "#3b928d", "myriad-bare": "#5bb5a2", "myriad-bare-before": "#9bd0c4", "myriad-headers": "#7cc3b3", "myriad-logged": "#6ab0a0", "nginx-recipe": "#8a8f98", "nginx-best": "#b9bdc4",
           "varnish": "#c98b4b", "floor": "#e2e4e8"}
LEGEND = {
    "myriad": "Myriad with `presets/wordpress.conf`, all its rules",
    "myriad-before": "the same of an earlier commit (`--before`)",
    "myriad-bare": "Myriad, one location with `fastcgi_cache` (`conf/bare.conf`)",
    "myriad-headers": "the same with twenty `more_set_headers`",
    "myriad-logged": "the same with an access log in the form `combined`",
    "myriad-bare-before": "the same of an earlier commit (`--before`)",
    "nginx-recipe": "nginx as the recipes have it (`conf/recipe.conf`)",
    "nginx-best": "nginx storing what the origin compressed (`conf/best.conf`)",
    "varnish": "Varnish before nginx and php-fpm (`conf/varnish.vcl`)",
    "floor": "the same bytes written by a loop that knows no HTTP (`floor/`); for handshakes rustls alone on a socket (`tls/`), over HTTP/3 quinn and h3 alone (`quic/`)",
}


# Sections that other programs than bench.py write, in their order.
KEPT = ("\n## The page cache\n", "\n## The published runs, repeated\n", "\n## Passed on: two origins behind Myriad, nginx and HAProxy\n",
        "\n## Before PHP: a flood, and a PHP that is slow\n", "\n## The object cache of WordPress\n", "\n## A machine of 2 GB\n")


def columns(results):
    """The servers that took part in any row."""
    return [name for name in COLUMNS if any(name in figures for figures in results.values())]


def write(results, notes, options, rows, partial):
    """The report as text. A run of all rows and servers replaces bench/REPORT.md; others go to bench/out/."""
    measured = [row for row in rows if results.get(row.name)]
    sections = [cpu_table(measured, results), busy_table(measured, results), other_tables(measured, results), targets(measured, results), remarks(notes)]
    text = "\n\n".join(section for section in sections if section)
    folder = HERE / "out" if partial else HERE
    (folder / "chart.svg").write_text(chart(measured, results))
    legend = "\n".join(f"- **{name}**: {words}" for name, words in LEGEND.items() if name in columns(results))
    target = folder / "REPORT.md"
    kept = kept_sections(target)
    target.write_text(f"# Bench\n\n{machine(options)}\n\n{legend}\n\n![CPU time per request](chart.svg)\n\n{text}\n{kept}")
    return text + f"\n\nwritten to {os.path.relpath(target)}"


def kept_sections(path):
    """What `make bench-cache`, `make bench-recipes`, `make bench-passing`, `make bench-shield` and `make bench-object-cache` wrote there earlier: it stays."""
    text = path.read_text() if path.exists() else ""
    return "".join(section(text, heading) for heading in KEPT)


def section(text, heading):
    """A section with its heading, up to the next of the same rank; empty where there is none."""
    found = re.search(re.escape(heading) + r".*?(?=\n## |\Z)", text, re.S)
    return found.group() if found else ""


def without_section(text, heading):
    found = section(text, heading)
    return text.replace(found, "") if found else text


def add_section(heading, text):
    """Writes a section of REPORT.md anew, as its last."""
    path = HERE / "REPORT.md"
    earlier = without_section(path.read_text(), heading)
    path.write_text(f"{earlier.rstrip()}\n{heading}\n{text}\n")


def first_line(*command):
    command = (shutil.which(command[0], path=SEARCH_PATH) or command[0], *command[1:])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return f"{pathlib.Path(command[0]).name}: none"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else ""


def machine(options):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    try:
        own = first_line(str(myriad_binary()), "-V")
    except Unavailable:
        own = "myriad: not built"
    facts = [
        f"{datetime.date.today().isoformat()}, {model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}",
        f"Command: `MYRIAD={os.path.relpath(MYRIAD)} {' '.join([os.path.relpath(sys.argv[0]), *sys.argv[1:]])}`",
        "; ".join([own, first_line("nginx", "-v"), first_line("varnishd", "-V"), first_line("wrk", "-v").split(" Copyright")[0],
                   first_line("php", "-v").split(" (cli")[0], first_line("mariadbd", "--version").split("Ver ")[-1]]),
    ]
    if hasattr(options, "rounds"):
        facts.append(f"{options.rounds} alternating rounds of {options.seconds:g} s, {options.connections} connections, server and "
                     f"wrk on a core each (rows with two workers share both); CPU time is that of the serving processes, "
                     "php-fpm and MariaDB excluded; medians.")
    return "\n\n".join(facts)


def table(heads, lines):
    widths = [max(len(str(line[column])) for line in [heads, *lines]) for column in range(len(heads))]
    shown = lambda cells: "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([shown(heads), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(shown, lines)])


def cpu_table(rows, results):
    lines = []
    for row in rows:
        figures = results[row.name]
        if not any("cpu_us" in figure for figure in figures.values()):
            continue
        floor = figures.get("floor", {}).get("cpu_us")
        cells = [row.title]
        for name in columns(results):
            figure = figures.get(name)
            if not figure:
                cells.append("")
                continue
            ratio = f" ({figure['cpu_us'] / floor:.2f}×)" if floor and name != "floor" else ""
            cells.append(f"{figure['cpu_us']:.1f}{ratio} {figure['per_second'] / 1000:.1f}k/s")
        lines.append(cells)
    if not lines:
        return ""
    return ("## CPU time per request\n\nµs of CPU per request (times the floor), thousand requests a second.\n\n"
            + table(["row", *columns(results)], lines))


def busy_table(rows, results):
    """Whether the server was the limit, wrk was, or something else had the cores."""
    share = lambda figure: f"{figure['busy']:.0%} / {figure['client_busy']:.0%}" if "busy" in figure else ""
    lines = [[row.title, *[share(results[row.name].get(name, {})) for name in columns(results)]] for row in rows]
    lines = [line for line in lines if any(line[1:])]
    if not lines:
        return ""
    return ("## How busy server and wrk were\n\nCPU time by wall time, 100% is a core. Where wrk is at its limit and the server is "
            "not, the server\nwas woken more often than it need have been, and its CPU time per request is rather too high. Where "
            "neither is,\neach waited for something else: for PHP on a miss, or for others on the machine.\n\n"
            + table(["row", *columns(results)], lines))


def other_tables(rows, results):
    crowd, idle = [], []
    for row in rows:
        for name in columns(results):
            figure = results[row.name].get(name, {})
            if "slowest_late_ms" in figure:
                times = ("first_late_ms", "median_late_ms", "slowest_late_ms", "beyond_ms", "client_cpu_ms")
                crowd.append([row.title, name, figure["origin_requests"], *[f"{figure[time]:.1f}" for time in times]])
            if "kilobytes_each" in figure:
                idle.append([row.title, name, f"{figure['kilobytes_each']:.2f}", figure["dead"],
                             f"{figure['hit_alone_us']:.1f}", f"{figure['hit_among_us']:.1f}"])
    lines = [[row.title, *[f"{results[row.name][name]['tls_kilobytes_each']:.2f}" if "tls_kilobytes_each" in results[row.name].get(name, {})
                           else "" for name in columns(results)]] for row in rows]
    secured = [line for line in lines if any(line[1:])]
    parts = []
    if secured:
        parts.append("## Idle connections of TLS\n\nKB of resident memory each.\n\n" + table(["row", *columns(results)], secured))
    if crowd:
        parts.append("## Crowds\n\nms from the moment that PHP was done, by its own stamp on the answer, until the first, the "
                     "median and the slowest client had all of it; what the longest wait of a client, from its own request, "
                     "had beyond PHP's working time; and the CPU time of all clients together, to send and to receive.\n\n"
                     + table(["row", "server", "origin requests", "first", "median", "slowest", "beyond", "clients"], crowd))
    if idle:
        parts.append("## Idle connections\n\n"
                     + table(["row", "server", "KB each", "lost", "hit alone, µs", "hit among them, µs"], idle))
    return "\n\n".join(parts)


def targets(rows, results):
    lines = [[row.title, asked, measured, "met" if met else "**missed**"]
             for row in rows for asked, measured, met in judge(row, results)]
    return "## What it must reach\n\n" + table(["row", "asked", "measured", ""], lines) if lines else ""


def remarks(notes):
    lines = [[title, name, problem.splitlines()[0]] for title, name, problem in notes]
    return "## Who took no part, and why\n\n" + table(["row", "server", "reason"], lines) if lines else ""


def chart(rows, results):
    """One panel a row, one bar a server; each panel has its own scale, as ratios are what counts."""
    bar, label, width = 18, 130, 520
    parts, y = [], 10
    for row in rows:
        bars = [(name, results[row.name][name]["cpu_us"]) for name in columns(results) if "cpu_us" in results[row.name].get(name, {})]
        if not bars:
            continue
        longest = max(value for _, value in bars)
        parts.append(f'<text x="10" y="{y + 14}" class="title">{row.title}, µs of CPU per request</text>')
        y += 24
        for name, value in bars:
            length = max(1, value / longest * width)
            parts.append(f'<text x="{label - 8}" y="{y + 13}" text-anchor="end">{name}</text>'
                         f'<rect x="{label}" y="{y}" width="{length:.1f}" height="{bar - 3}" fill="{COLOURS[name]}"/>'
                         f'<text x="{label + length + 6:.1f}" y="{y + 13}">{value:.1f}</text>')
            y += bar
        y += 14
    style = "text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{label + width + 80}" height="{y}">'
            f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')
